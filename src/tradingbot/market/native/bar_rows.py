"""C that turns bars, one row of the market for each lane, into one row of a block per column."""

from __future__ import annotations

import torch


def bar_rows(dtype: torch.dtype) -> str:
    """Write `read_bars(market, row, bar, n)`: the bars after rows (n,) of the market (N·T, 8).

    Lanes of a vector that the block does not fill repeat its last lane. It wants the vector types
    of one number format, and `BAR` and `MARKET_COLUMNS` = 8.
    """
    return (_TURN_FLOATS if dtype == torch.float32 else _TURN_DOUBLES) + _READ_BARS


# Halves of rows are loaded side by side, so that no shuffle crosses the middle of a vector.
_TURN_FLOATS = """\
#ifdef __AVX__
static inline void turn_bars(const float *const *bars, real_row *bar, int l)
{
  for (int half = 0; half < 2; half++) {
    __m256 a[4], t[4], columns[4];
    for (int i = 0; i < 4; i++)
      a[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(bars[i] + 4 * half)),
                                  _mm_loadu_ps(bars[i + 4] + 4 * half), 1);
    for (int i = 0; i < 2; i++) {
      t[2 * i] = _mm256_unpacklo_ps(a[2 * i], a[2 * i + 1]);
      t[2 * i + 1] = _mm256_unpackhi_ps(a[2 * i], a[2 * i + 1]);
    }
    for (int i = 0; i < 2; i++) {
      columns[2 * i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
      columns[2 * i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xEE);
    }
    for (int i = 0; i < 4 && 4 * half + i < BAR; i++)
      _mm256_store_ps(&bar[4 * half + i][l], columns[i]);
  }
}
#endif
"""
_TURN_DOUBLES = """\
#ifdef __AVX__
static inline void turn_bars(const double *const *bars, real_row *bar, int l)
{
  for (int pair = 0; pair < MARKET_COLUMNS; pair += 2) {
    __m256d a[2];
    for (int i = 0; i < 2; i++)
      a[i] = _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(bars[i] + pair)),
                                  _mm_loadu_pd(bars[i + 2] + pair), 1);
    _mm256_store_pd(&bar[pair][l], _mm256_unpacklo_pd(a[0], a[1]));
    if (pair + 1 < BAR) _mm256_store_pd(&bar[pair + 1][l], _mm256_unpackhi_pd(a[0], a[1]));
  }
}
#endif
"""
_READ_BARS = """\
static inline void read_bars(const real *market, const whole *row, real_row *bar, int n)
{
  for (int l = 0; l < n; l += WIDTH) {
    const real *bars[WIDTH];
    for (int i = 0; i < WIDTH; i++) {
      const int at = l + i < n ? l + i : n - 1;
      bars[i] = market + MARKET_COLUMNS * ((int64_t)row[at] + 1);
    }
#ifdef __AVX__
    turn_bars(bars, bar, l);
#else
    for (int i = 0; i < WIDTH; i++)
      for (int k = 0; k < BAR; k++) bar[k][l + i] = bars[i][k];
#endif
  }
}
"""
