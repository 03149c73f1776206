from __future__ import annotations

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from afterwit.bus.identity import agent_of, digest, new_token

AGENTS = st.from_regex(r"[a-z0-9][a-z0-9_-]{0,62}", fullmatch=True)


@given(AGENTS)
def test_a_token_names_its_agent_and_holds_256_random_bits(agent: str) -> None:
    token = new_token(agent)
    assert agent_of(token) == agent
    assert token.startswith(f"aw.{agent}.")
    assert len(token.rpartition(".")[2]) * 4 == 256
    assert new_token(agent) != token


@given(st.one_of(st.text(), st.from_regex(r"aw\..{0,70}\.[0-9a-f]{60,66}\s?")))
def test_what_is_no_token_is_nobodys(text: str) -> None:
    agent = agent_of(text)
    assert agent is None or text == f"aw.{agent}.{text[-64:]}"


def test_a_final_line_feed_makes_it_no_token() -> None:
    assert agent_of(new_token("alice") + "\n") is None


def test_what_is_kept_is_the_hash_of_the_whole_token() -> None:
    token = new_token("alice")
    assert digest(token) == hashlib.sha256(token.encode()).hexdigest()
