"""C around the statements of a step: reading blocks, resets, what lanes see, writing, the call."""

BLOCKS = """\
struct given { /* lanes of a block before the step */
  real_row rates[RATES], money[MONEY], bar[BAR], action[1];
  whole_row counts[COUNTS], code[1], episode_bars[1];
};
struct start { /* lanes that begin anew */
  real_row rates[RATES], mark[1];
  whole_row row[1], episode[1], stale_bars[1];
};
struct made { /* lanes after the step */
  real_row money[MONEY], private[OWN], reward[1], terms[TERMS], details[DETAILS];
  whole_row counts[COUNTS], executed[1], flags[3], allowed[CODES + 1];
};
enum { TERMINATED_ROW, TRUNCATED_ROW, TRADED_ROW };
"""
"""Rows of a block before and after a step; sizes are constants of the program."""
CALL = """\
#define AT(type, field) ((type *)(intptr_t)call[field])
#define COLUMN(type, field, i, stride) (AT(type, field) + (i) * call[stride] + first)

static uint32_t mix(uint32_t x)
{
  x = (x ^ (x >> 16)) * FIRST_FACTOR;
  x = (x ^ (x >> 15)) * SECOND_FACTOR;
  return x ^ (x >> 16);
}

static int64_t start_row(const int64_t *call, int64_t lane, int64_t episode)
{
  const int32_t *choices = AT(const int32_t, AT_CHOICES), *offset = AT(const int32_t, AT_OFFSET);
  uint32_t hash = mix((uint32_t)AT(const int64_t, AT_KEY)[lane] + mix((uint32_t)episode + 1));
  int64_t draw = (int64_t)(((uint64_t)hash * (uint64_t)call[AT_N_CHOICES]) >> 32);
  if (call[AT_IS_TABLE]) return choices[offset[lane] * call[AT_N_CHOICES] + draw];
  return offset[lane] + choices[draw];
}

static inline void read_actions(const int64_t *call, struct given *given, int64_t first, int n)
{
  switch (call[AT_ACTION_KIND]) {
  case 0: READ(given->action[0], AT(const float, AT_ACTION) + first, n); break;
  case 1: READ(given->action[0], AT(const double, AT_ACTION) + first, n); break;
  default:
    for (int l = 0; l < BLOCK && l < n + WIDTH; l++) {
      int64_t at = first + (l < n ? l : n - 1);
      int64_t code = call[AT_ACTION_KIND] == 2 ? AT(const int64_t, AT_ACTION)[at]
                                            : AT(const int32_t, AT_ACTION)[at];
      given->code[0][l] = code < -1 ? -1 : code > 127 ? 127 : (whole)code;
      given->action[0][l] = (real)code;
    }
  }
}

static inline void read_block(const int64_t *call, struct given *given, int64_t first, int n)
{
  for (int i = 0; i < MONEY; i++)
    READ(given->money[i], COLUMN(const real, AT_MONEY, i, AT_STRIDE), n);
  for (int i = 0; i < COUNTS; i++)
    READ(given->counts[i], COLUMN(const int32_t, AT_COUNTS, i, AT_STRIDE), n);
  read_bars(AT(const real, AT_MARKET), given->counts[ROW], given->bar, n);
  if (call[AT_RATES_DIFFER])
    for (int i = 0; i < RATES; i++)
      READ(given->rates[i], COLUMN(const real, AT_RATES, i, AT_LANES), n);
  read_actions(call, given, first, n);
}

static void observe_lane(const int64_t *call, const struct made *made, int l, float *out)
{
  const int64_t window = call[AT_WINDOW_FLOATS], features = call[AT_N_FEATURES];
  const int64_t likely = call[AT_N_PROBABILITIES], regimes = call[AT_N_REGIMES];
  const int64_t row = made->counts[ROW][l];
  const float *seen = AT(const float, AT_FEATURES) + (row + 1) * features - window;
  memcpy(out, seen, window * sizeof(float));
  out += window;
  seen = AT(const float, AT_PROBABILITIES) + row * likely;
  for (int64_t i = 0; i < likely; i++) *out++ = seen[i];
  for (int i = 0; i < OWN; i++) *out++ = (float)made->private[i][l];
  seen = AT(const float, AT_REGIMES) + row * regimes;
  for (int64_t i = 0; i < regimes; i++) *out++ = seen[i];
}

static void begin_anew(const int64_t *call, const struct given *given, struct made *made,
                       int64_t first, int n)
{
  int ended[BLOCK], m = 0;
  for (int l = 0; l < n; l++)
    if (made->flags[TERMINATED_ROW][l] | made->flags[TRUNCATED_ROW][l]) ended[m++] = l;
  if (m == 0) return;
  __atomic_fetch_add((int64_t *)call + AT_ENDED, m, __ATOMIC_RELAXED);
  float *final = AT(float, AT_FINAL_OBSERVATION);
  for (int k = 0; final && k < m; k++)
    observe_lane(call, made, ended[k], final + (first + ended[k]) * call[AT_WIDTH]);
  for (int k = 0; call[AT_FINAL_OF_ENDED] && k < m; k++) {
    int l = ended[k];
    for (int i = 0; i < MONEY; i++)
      COLUMN(real, AT_FINAL_MONEY, i, AT_NEXT_STRIDE)[l] = made->money[i][l];
    for (int i = 0; i < COUNTS; i++)
      COLUMN(int32_t, AT_FINAL_COUNTS, i, AT_NEXT_STRIDE)[l] = (int32_t)made->counts[i][l];
  }
  if (!call[AT_CHOICES]) return;
  struct start start;
  struct made begun;
  for (int k = 0; k < BLOCK && k < m + WIDTH; k++) {
    int l = ended[k < m ? k : m - 1];
    whole episode = made->counts[EPISODE][l] + 1;
    int64_t row = start_row(call, first + l, episode);
    const real *bar = AT(const real, AT_MARKET) + MARKET_COLUMNS * row;
    start.row[0][k] = (whole)row;
    start.episode[0][k] = episode;
    start.mark[0][k] = bar[3];
    start.stale_bars[0][k] = (whole)bar[MARKET_COLUMNS - 1];
    for (int i = 0; i < RATES; i++) start.rates[i][k] = given->rates[i][l];
  }
  open_lanes(&start, &begun, m);
  for (int k = 0; k < m; k++) {
    int l = ended[k];
    for (int i = 0; i < MONEY; i++) made->money[i][l] = begun.money[i][k];
    for (int i = 0; i < COUNTS; i++) made->counts[i][l] = begun.counts[i][k];
    for (int i = 0; i < OWN; i++) made->private[i][l] = begun.private[i][k];
    for (int i = 0; i < CODES; i++) made->allowed[i][l] = begun.allowed[i][k];
  }
}

/* A result that is not asked for has no address. Accounts that are stepped in place are read where
   they are written, so caches keep what they can of them and of the results beside them. */
#define WRITE_ROWS(type, field, rows, count) do { \\
    if (call[field] && call[AT_LANES] >= STREAMED && call[AT_MONEY] != call[AT_NEXT_MONEY]) \\
      for (int i = 0; i < (count); i++) \\
        STREAM(COLUMN(type, field, i, AT_NEXT_STRIDE), (rows)[i], n); \\
    else if (call[field]) \\
      for (int i = 0; i < (count); i++) \\
        WRITE(COLUMN(type, field, i, AT_NEXT_STRIDE), (rows)[i], n); } while (0)
#define WRITE_FLAG_ROWS(field, rows, count) do { \\
    if (call[field]) \\
      for (int i = 0; i < (count); i++) \\
        WRITE_FLAGS(COLUMN(uint8_t, field, i, AT_LANES), (rows)[i], n); } while (0)

static void write_ends(const int64_t *call, const struct made *made, int64_t first, int n)
{
  WRITE_ROWS(real, AT_FINAL_PRIVATE, made->private, OWN);
  WRITE_ROWS(real, AT_REWARD, made->reward, 1);
  for (int l = 0; call[AT_REWARD_SUMS] && l < n; l++)
    AT(double, AT_REWARD_SUMS)[first + l] += made->reward[0][l];
  WRITE_ROWS(real, AT_TERMS, made->terms, TERMS);
  WRITE_ROWS(int32_t, AT_EXECUTED, made->executed, 1);
  WRITE_FLAG_ROWS(AT_TERMINATED, made->flags + TERMINATED_ROW, 1);
  WRITE_FLAG_ROWS(AT_TRUNCATED, made->flags + TRUNCATED_ROW, 1);
  WRITE_FLAG_ROWS(AT_TRADED, made->flags + TRADED_ROW, 1);
  WRITE_ROWS(real, AT_DETAILS, made->details, DETAILS);
  if (call[AT_FINAL_OF_ENDED]) return;
  WRITE_ROWS(real, AT_FINAL_MONEY, made->money, MONEY);
  WRITE_ROWS(int32_t, AT_FINAL_COUNTS, made->counts, COUNTS);
}

static void write_next(const int64_t *call, const struct made *made, int64_t first, int n)
{
  WRITE_ROWS(real, AT_NEXT_MONEY, made->money, MONEY);
  WRITE_ROWS(int32_t, AT_NEXT_COUNTS, made->counts, COUNTS);
  WRITE_ROWS(real, AT_PRIVATE, made->private, OWN);
  WRITE_FLAG_ROWS(AT_ALLOWED, made->allowed, CODES);
  for (int l = 0; call[AT_EQUITY] && l < n; l++) {
    const real held = made->money[UNITS][l] * made->money[MARK][l];
    AT(real, AT_EQUITY)[first + l] = made->money[CASH][l] + held;
  }
  float *seen = AT(float, AT_OBSERVATION);
  for (int l = 0; seen && l < n; l++)
    observe_lane(call, made, l, seen + (first + l) * call[AT_WIDTH]);
}

/* Bars lie all over memory: those of a block are fetched while the block before is computed. */
static inline void prefetch_bars(const int64_t *call, int64_t first, int64_t last)
{
  const int32_t *row = AT(const int32_t, AT_COUNTS) + ROW * call[AT_STRIDE];
  for (int64_t l = first; l < last && l < first + BLOCK; l++)
    __builtin_prefetch(AT(const real, AT_MARKET) + MARKET_COLUMNS * ((int64_t)row[l] + 1));
}

static void step_part(const int64_t *call, int64_t part)
{
  struct given given;
  struct made made;
  int64_t first = part * PART, last = first + PART < call[AT_LANES] ? first + PART : call[AT_LANES];
  for (int l = 0; l < BLOCK; l++) given.episode_bars[0][l] = (whole)call[AT_EPISODE_BARS];
  if (!call[AT_RATES_DIFFER])
    for (int i = 0; i < RATES; i++)
      for (int l = 0; l < BLOCK; l++) given.rates[i][l] = AT(const real, AT_RATES)[i];
  prefetch_bars(call, first, last);
  for (; first < last; first += BLOCK) {
    int n = last - first < BLOCK ? (int)(last - first) : BLOCK;
    prefetch_bars(call, first + BLOCK, last);
    read_block(call, &given, first, n);
    advance_lanes(&given, &made, n);
    write_ends(call, &made, first, n);
    begin_anew(call, &given, &made, first, n);
    write_next(call, &made, first, n);
  }
  FINISH_STREAMS();
}

int64_t step(int64_t *call)
{
  const int32_t *row = AT(const int32_t, AT_COUNTS) + ROW * call[AT_STRIDE];
  int outside = 0; /* found before anything is written: accounts may be stepped in place */
  for (int64_t l = 0; l < call[AT_LANES]; l++)
    outside |= (row[l] < -1) | (row[l] >= call[AT_N_ROWS] - 1);
  if (outside) return -1;
  call[AT_ENDED] = 0;
  share_parts(step_part, call, (call[AT_LANES] + PART - 1) / PART, call[AT_THREADS]);
  return call[AT_ENDED];
}
"""
"""Defines `step`; wants `advance_lanes` and `open_lanes`."""
