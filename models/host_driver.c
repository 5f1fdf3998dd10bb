/* Runs a kernel on the host: samples come in on standard input, answers go out on standard output.
 *
 * A sample is a uint16 count of pieces, the pieces' lengths as uint16, then all features. An answer is the
 * class as uint16 and the scores, 4 bytes each. Each sample is folded into memory of its piece's very size,
 * so that the address sanitizer notices a read beyond it. */
#include <stdio.h>
#include <stdlib.h>

#include "kernel.h"

static int read_all(void *to, size_t size, size_t count) {
    return fread(to, size, count, stdin) == count;
}

int main(void) {
    static uint16_t lengths[65536];
    static score_t scores[MODEL_SCORES];
    uint16_t pieces;
    while (read_all(&pieces, sizeof pieces, 1)) {
        if (!read_all(lengths, sizeof lengths[0], pieces)) {
            return 2;
        }
        uint16_t first = 0;
        kernel_begin();
        for (uint16_t piece = 0; piece < pieces; piece++) {
            feature_t *x = malloc(lengths[piece] * sizeof *x);
            if (!x || !read_all(x, sizeof *x, lengths[piece])) {
                return 2;
            }
            kernel_fold(first, x, lengths[piece]);
            first = (uint16_t)(first + lengths[piece]);
            free(x);
        }
        const uint16_t class = kernel_finish(scores);
        fwrite(&class, sizeof class, 1, stdout);
        fwrite(scores, sizeof scores[0], MODEL_SCORES, stdout);
    }
    return 0;
}
