"""Files are measured from their outside; what is broken, huge or something else is refused."""

from __future__ import annotations

import random
import struct
import time
import zlib

import pytest

from app.github.attachments.image_header import LONGEST_SIDE, UnusableImage, read_header
from tests.app.github.attachments.image_samples import gif, jpeg, png, webp

MAKERS = {"image/png": png, "image/jpeg": jpeg, "image/gif": gif, "image/webp": webp}
KINDS = pytest.mark.parametrize("kind", MAKERS)


@KINDS
def test_kind_and_size(kind):
    found = read_header(MAKERS[kind](640, 480))

    assert (found.media_type, found.width, found.height) == (kind, 640, 480)
    assert found.data == MAKERS[kind](640, 480)


@pytest.mark.parametrize("kind", ["VP8 ", "VP8L", "VP8X"])
def test_every_kind_of_webp(kind):
    found = read_header(webp(1200, 33, kind=kind))

    assert (found.width, found.height) == (1200, 33)


@pytest.mark.parametrize("sof", [0xC0, 0xC1, 0xC2, 0xCF])
def test_every_kind_of_jpeg_and_segments_before_it(sof):
    filling = b"\xff\xff\xff\xe1\x00\x04ab" + b"\xff\xc4\x00\x05abc"
    found = read_header(jpeg(1200, 33, sof=sof, before=filling))

    assert (found.width, found.height) == (1200, 33)


@KINDS
def test_what_hangs_behind_the_end_is_cut_off(kind):
    evil = b"<html><script>alert(1)</script> SECRET"
    found = read_header(MAKERS[kind](tail=evil))

    assert found.data == MAKERS[kind]()
    assert b"SECRET" not in found.data


@KINDS
@pytest.mark.parametrize(("width", "height"), [(LONGEST_SIDE + 1, 1), (1, LONGEST_SIDE + 1)])
def test_huge_pictures_are_refused_by_what_they_declare(kind, width, height):
    with pytest.raises(UnusableImage, match=f"{width} x {height} pixels"):
        read_header(MAKERS[kind](width, height))


def test_a_picture_that_declares_the_largest_size_there_is():
    with pytest.raises(UnusableImage, match="4294967295"):
        read_header(png(2**32 - 1, 2**32 - 1))


@pytest.mark.parametrize("kind", ["image/png", "image/jpeg", "image/gif"])
def test_nothing_is_as_wide_as_nothing(kind):
    with pytest.raises(UnusableImage, match="broken"):
        read_header(MAKERS[kind](0, 5))


POLYGLOTS = {
    "HTML with a PNG's first bytes": png()[:8] + b"<html><script>fetch('//evil')</script></html>",
    "HTML behind a PNG's header": png()[:33] + b"<html>" * 50,
    "a PNG without pixels": png()[:33] + png()[-12:],
    "a PNG with a flipped bit": png().replace(b"\x78\x9c", b"\x79\x9c"),
    "HTML with a JPEG's first bytes": b"\xff\xd8\xff<html></html>\xff\xd9",
    "HTML with a GIF's first bytes": b"GIF89a<html>;</html>;",
    "a GIF without a picture": gif(blocks=b""),
    "HTML with a WebP's first bytes": b"RIFF\x20\x00\x00\x00WEBP<html></html>" + b" " * 40,
    "another RIFF file": b"RIFF\x20\x00\x00\x00WAVEfmt " + b" " * 40,
    "a JPEG without an end": jpeg()[:-2],
    "a JPEG without pixels": jpeg()[:20] + b"\xff\xd9",
}


@pytest.mark.parametrize("name", POLYGLOTS)
def test_polyglots_and_shams_are_refused(name):
    with pytest.raises(UnusableImage):
        read_header(POLYGLOTS[name])


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x89PNG",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        b"<?xml version='1.0'?><svg/>",
        b"<!DOCTYPE html>",
        b"BM\x00\x00",
        b"%PDF-1.7",
        b"MZ",
        b"\x00\x00\x00\x1cftypavif",
    ],
)
def test_other_kinds_are_refused(data):
    with pytest.raises(UnusableImage, match="no PNG, JPEG, GIF or WebP"):
        read_header(data)


@KINDS
def test_every_cut_and_many_garbled_files_are_judged_without_a_crash(kind):
    whole, chance = MAKERS[kind](), random.Random(7)
    for end in range(len(whole)):
        with pytest.raises(UnusableImage):
            read_header(whole[:end])
    for _ in range(500):
        garbled = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            garbled[chance.randrange(3, len(whole))] = chance.randrange(256)
        try:
            read_header(bytes(garbled))
        except UnusableImage:
            continue


@pytest.mark.parametrize(
    "data",
    [
        png()[:8] + b"\x00" * 3_900_000,
        b"\xff\xd8" + b"\xff" * 3_900_000,
        b"\xff\xd8" + b"\xff\x01" * 1_950_000,
        b"\xff\xd8" + b"\xff\xe0\x00\x00" * 970_000,
        gif()[:19] + b"\x21\x00\x00" * 1_300_000,
        gif()[:19] + b"\x21\x00" + b"\x01a" * 1_900_000,
        png()[:33] + (b"\x00\x00\x00\x00abcd" + struct.pack(">I", zlib.crc32(b"abcd"))) * 325_000,
    ],
)
def test_hostile_files_of_the_largest_size_take_a_moment(data):
    began = time.process_time()
    with pytest.raises(UnusableImage):
        read_header(data)
    assert time.process_time() - began < 2
