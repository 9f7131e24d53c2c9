// In-context inference: keys and values of new rows go into caches; heads are read for every value of a condition.

// cache line `lines[r]` = keys and values of row r of qkv [rows, 3 * WIDTH]; rows with line -1 are left out.
extern "C" __global__ void store_keys(
    const bf16* __restrict__ qkv, const int* __restrict__ lines, bf16* __restrict__ cache, int rows
) {
    constexpr int PARTS = 2 * WIDTH / 8;
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    int row = at / PARTS, part = at % PARTS * 8;
    if (row >= rows || lines[row] < 0) return;
    *(uint4*)(cache + (size_t)lines[row] * (2 * WIDTH) + part) = *(const uint4*)(qkv + (size_t)row * LINE + WIDTH + part);
}

// after [rows, values, columns] = GELU(before [rows, columns] + table [values, columns]).
extern "C" __global__ void sweep_gelu(
    const float* __restrict__ before, const float* __restrict__ table, bf16* __restrict__ after, int rows, int values,
    int columns
) {
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    int col = at % columns, value = at / columns % values;
    size_t row = at / columns / values;
    if (row >= rows) return;
    after[at] = narrow(gelu(before[row * columns + col] + table[value * columns + col]));
}

// logits [rows, values, columns] = before [rows, columns] + table [values, columns].
extern "C" __global__ void sweep(
    const float* __restrict__ before, const float* __restrict__ table, float* __restrict__ logits, int rows, int values,
    int columns
) {
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    int col = at % columns, value = at / columns % values;
    size_t row = at / columns / values;
    if (row < rows) logits[at] = before[row * columns + col] + table[value * columns + col];
}
