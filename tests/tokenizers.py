"""A tokenizer with a vocabulary of its own, as models bring one."""

from __future__ import annotations

from pathlib import Path

from tokenizers import Tokenizer, models, pre_tokenizers, processors


def word_tokenizer(path: Path) -> Path:
    """A ``tokenizer.json`` at ``path``: a word is a token, and a mark stands before them that is not counted."""
    model = Tokenizer(models.WordLevel({"[UNK]": 0, "[CLS]": 1}, unk_token="[UNK]"))
    model.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    model.post_processor = processors.TemplateProcessing(single="[CLS] $A", special_tokens=[("[CLS]", 1)])
    model.enable_truncation(4)  # as published ones are often cut: what is counted must not be
    model.save(str(path))
    return path
