"""Units of measure in English and Chinese, and the measure words with which Chinese counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Unit:
    """One unit: a figure in it times ``factor``, plus ``offset``, is the figure in the base unit."""

    dimension: str
    factor: float
    offset: float = 0.0
    system: str = ""

    def base(self, figure: float) -> float:
        """``figure`` in the base unit of the dimension."""
        return figure * self.factor + self.offset


CURRENCIES: Final = {
    "€": "EUR", "EUR": "EUR", "EURO": "EUR", "EUROS": "EUR", "欧元": "EUR", "欧": "EUR",
    "$": "USD", "USD": "USD", "DOLLAR": "USD", "DOLLARS": "USD", "美元": "USD", "美金": "USD",
    "£": "GBP", "GBP": "GBP", "英镑": "GBP",
    "¥": "CNY", "CNY": "CNY", "RMB": "CNY", "YUAN": "CNY", "元": "CNY", "块钱": "CNY", "块": "CNY", "人民币": "CNY",
    "CHF": "CHF", "JPY": "JPY", "YEN": "JPY", "日元": "JPY", "SEK": "SEK", "NOK": "NOK", "DKK": "DKK",
    "港币": "HKD", "港元": "HKD", "HKD": "HKD",
}  # fmt: skip
"""Signs, codes and words of currencies, in upper case."""


def _units() -> dict[str, Unit]:
    table: dict[str, Unit] = {}

    def add(names: str, dimension: str, factor: float, system: str = "", offset: float = 0.0) -> None:
        for name in names.split():
            table[name.casefold()] = Unit(dimension, factor, offset, system)

    add("ms millisecond milliseconds 毫秒", "duration", 0.001)
    add("s sec secs second seconds 秒 秒钟", "duration", 1)
    add("min mins minute minutes 分钟", "duration", 60)
    add("h hr hrs hour hours 小时 钟头", "duration", 3600)
    add("day days 天", "duration", 86_400)
    add("week weeks 周 星期 礼拜", "duration", 7 * 86_400)
    add("fortnight fortnights", "duration", 14 * 86_400)
    add("month months 月 个月", "duration", 365.25 / 12 * 86_400)
    add("year years 年", "duration", 365.25 * 86_400)
    add("g gram grams 克", "mass", 0.001, "metric")
    add("kg kilo kilos kilogram kilograms 公斤 千克", "mass", 1, "metric")
    add("斤", "mass", 0.5, "市制")
    add("tonne tonnes ton tons 吨", "mass", 1000, "metric")
    add("lb lbs", "mass", 0.453592, "imperial")
    add("oz ounce ounces", "mass", 0.0283495, "imperial")
    add("mm millimetre millimetres 毫米", "length", 0.001, "metric")
    add("cm centimetre centimetres centimeters 厘米 公分", "length", 0.01, "metric")
    add("m metre metres meter meters 米", "length", 1, "metric")
    add("km kilometre kilometres kilometer kilometers 公里 千米", "length", 1000, "metric")
    add("mi mile miles 英里", "length", 1609.344, "imperial")
    add("ft feet foot 英尺", "length", 0.3048, "imperial")
    add("inch inches 英寸", "length", 0.0254, "imperial")
    add("°C 摄氏度 ℃ celsius", "temperature", 1, "celsius")
    for name in ("°f", "℉", "fahrenheit", "华氏度"):
        table[name] = Unit("temperature", 5 / 9, -32 * 5 / 9, "fahrenheit")
    add("litre litres liter liters 升", "volume", 1, "metric")
    add("ml 毫升", "volume", 0.001, "metric")
    for power, (name, binary) in enumerate((("kb", "kib"), ("mb", "mib"), ("gb", "gib"), ("tb", "tib")), start=1):
        add(name, "bytes", 1000**power, "decimal")
        add(binary, "bytes", 1024**power, "binary")
    add("bytes byte 字节", "bytes", 1, "bytes")
    add("% percent 个百分点", "percent", 1)
    for name, code in CURRENCIES.items():
        if name.isascii() and not name.isalpha():
            continue  # signs stand before their figure
        table[name.casefold()] = Unit(f"money:{code}", 1)
    return table


UNITS: Final = _units()
"""Unit by its name, case-folded."""

MEASURE_WORDS: Final = dict.fromkeys("个件张位人名台间次单条只家行种起份辆层级套把颗枚封笔轮趟本页步户头箱包封扇座", "")
MEASURE_WORDS.update({"位": "person", "名": "person", "人": "person"})
"""Chinese measure words (one character each), and what they count where the word alone says it."""
