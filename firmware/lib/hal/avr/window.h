#ifndef AVR_WINDOW_H
#define AVR_WINDOW_H

/* The trigger pin becomes an output, low. Part of hal_start. */
void hal_window_start(void);

#endif
