"""Which photographs may be trained on, as Debian's copyright files say it."""

import io
import lzma
import tarfile

import pytest

from training.licences import parse_copyright, terms_of
from training.photographs import ATTRIBUTIONS, attribution
from training.sources import HELD_OUT, Photograph, unpacked

COPYRIGHT = """Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Source: https://example.org

Files: *
Copyright: 2001, Everybody
License: GPL-2+

Files: photographs/*.jpg
       old/a.jpg
Copyright: 2002, Ann
 2003, Bob
License: CC-BY-4.0
Comment: taken: on a walk

# a remark: not a field
Files: photographs/shared*.jpg
Copyright: 2004, Carl
License: CC-BY-SA-4.0

Files: photographs/either.jpg
Copyright: 2005, Dora
License: CC0-1.0 or GPL-2+

Files: photographs/gift.jpg
Copyright: none
License: CC0-1.0
 To the extent possible under law, all rights are waived.

License: CC-BY-4.0
 Files: in this text are not a field.
"""


@pytest.mark.parametrize(
    ("path", "licence", "holder", "free"),
    [
        ("README", "GPL-2+", "2001, Everybody", False),
        ("photographs/hill.jpg", "CC-BY-4.0", "2002, Ann 2003, Bob", True),
        ("photographs/deep/hill.jpg", "CC-BY-4.0", "2002, Ann 2003, Bob", True),
        ("old/a.jpg", "CC-BY-4.0", "2002, Ann 2003, Bob", True),
        ("photographs/shared-hill.jpg", "CC-BY-SA-4.0", "2004, Carl", False),
        ("photographs/either.jpg", "CC0-1.0 or GPL-2+", "2005, Dora", False),
        ("photographs/gift.jpg", "CC0-1.0", "none", True),
    ],
)
def test_the_last_paragraph_that_names_a_file_counts(path, licence, holder, free):
    terms = terms_of(path, parse_copyright(COPYRIGHT))
    assert (terms.licence, terms.holder, terms.free) == (licence, holder, free)


def test_a_file_that_nobody_names_has_no_terms():
    assert terms_of("b.jpg", parse_copyright("Files: a.jpg\nCopyright: Ann\nLicense: CC0-1.0\n")) is None
    assert not Photograph("b.jpg", "somewhere", None, b"").usable


def test_the_attribution_names_authors_and_refusals():
    terms = parse_copyright(COPYRIGHT)
    names = ("photographs/hill.jpg", "photographs/shared.jpg")
    photographs = [Photograph(name, "a package", terms_of(name, terms), b"") for name in names]
    text = attribution(photographs, "a network")
    assert "| photographs/hill.jpg | 2002, Ann 2003, Bob | CC-BY-4.0 | a package | training |" in text
    assert "Not used: photographs/shared.jpg (CC-BY-SA-4.0)." in text


@pytest.mark.parametrize("path", ATTRIBUTIONS, ids=lambda path: path.parent.name)
def test_the_shipped_attributions_keep_judged_photographs_apart(path):
    rows = [line.split(" | ") for line in path.read_text().splitlines() if line.startswith("| ")][1:]
    judged = {row[0].removeprefix("| ") for row in rows if row[-1] == "judging only |"}
    assert judged == HELD_OUT
    assert {row[2] for row in rows} <= {"CC0-1.0", "CC-BY-2.0", "CC-BY-4.0", "public-domain"}


def test_a_package_is_unpacked_without_installing():
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as archive:
        member = tarfile.TarInfo("./usr/share/a.txt")
        member.size = 3
        archive.addfile(member, io.BytesIO(b"abc"))
    parts = {"debian-binary": b"2.0\n", "control.tar.xz": b"odd", "data.tar.xz": lzma.compress(tar.getvalue())}
    deb = b"!<arch>\n"
    for name, content in parts.items():
        deb += f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode() + content
        deb += b"\n" * (len(content) % 2)
    assert unpacked(deb) == {"usr/share/a.txt": b"abc"}
