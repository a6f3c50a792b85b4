"""XML of strangers: what is read, with which lines, and what is refused."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputopo.parsers.unreadable import Unreadable
from gputopo.parsers.xml_guard import MAX_DEPTH, documents


def read(text):
    return documents(text, ("system",))


def test_elements_know_their_lines_in_the_whole_text():
    [system] = read('some log line\n\n<!-- licence -->\n<system version="1">\n  <cpu/>\n  <cpu/>\n</system>\n')
    assert system.line == 4
    assert [cpu.line for cpu in system.children] == [5, 6]


def test_two_documents_between_other_lines_are_two():
    first, second = read('rank 0: <system version="1"/>\nNCCL INFO <b & c>\n<?xml version="1.0"?>\n<system/>\nend')
    assert (first.line, second.line) == (1, 4)


def test_a_tag_inside_a_comment_is_no_document():
    [system] = read("<!-- <system> is the root -->\n<system/>")
    assert system.line == 2


def test_a_doctype_that_names_a_file_is_not_opened():
    [root] = documents('<!DOCTYPE topology SYSTEM "/etc/passwd"><topology><info value="x"/></topology>', ("topology",))
    assert root.children[0].attributes == {"value": "x"}


def test_text_of_an_element_is_kept_and_white_space_is_not():
    [root] = read("<system> <a>0 1 2 </a>\n </system>")
    assert (root.text, root.children[0].text) == ("", "0 1 2 ")


BOMB = '<!DOCTYPE system [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>\n<system name="&b;"/>'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (BOMB, "declares entities"),
        ('<!DOCTYPE system [<!ENTITY x SYSTEM "file:///etc/passwd">]><system>&x;</system>', "declares entities"),
        ("<system>&unknown;</system>", "undefined entity"),
        ("<system>" * (MAX_DEPTH + 1), "deeper than"),
        ("<system/>\n" * 101, "more than 100"),
        ("", "no <system>"),
        ("\0\1\2binary", "no <system>"),
        ("<!-- <system/> never closed", "no <system>"),
        ("<system a=1/>", "not well-formed"),
        ('<system a="\0"/>', "not well-formed"),
    ],
)
def test_refused(text, says):
    with pytest.raises(Unreadable, match=says):
        read(text)


def test_a_cut_file_says_where_and_what_is_open():
    with pytest.raises(Unreadable) as caught:
        read('<system version="1">\n  <cpu numaid="0">\n    <pci busid="0000:0f:00.0" clas')
    assert caught.value.line == 3
    assert "<cpu> of line 2 is not closed" in caught.value.what
    assert "cut" in caught.value.hint


def test_too_many_elements(monkeypatch):
    monkeypatch.setattr("gputopo.parsers.xml_guard.MAX_ELEMENTS", 10)
    with pytest.raises(Unreadable, match="more than 10 elements"):
        read("<system>" + "<cpu/>" * 10 + "</system>")


def test_too_many_bytes(monkeypatch):
    monkeypatch.setattr("gputopo.parsers.xml_guard.MAX_BYTES", 10)
    with pytest.raises(Unreadable, match="larger than"):
        read("<system><cpu/></system>")


PARTS = ["<system>", "</system>", "<!--", "-->", "<?xml", "&a;", "<!DOCTYPE", "]>", "x\n", '"']


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from(["<system>", "</system>", "<!--", "-->", "<?xml", "&a;", "<!DOCTYPE", "]>", "x\n", '"']))
)
def test_any_text_is_read_or_refused(parts):
    try:
        roots = read("".join(parts))
    except Unreadable:
        return
    assert all(root.tag == "system" for root in roots)
