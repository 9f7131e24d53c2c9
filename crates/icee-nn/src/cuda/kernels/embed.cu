// Embeddings of fields and conditions: a row is the sum of its fields' vectors.
//   categorical: table[value];  vector: bias + sum_i value_i * weight[i]
// Their gradients are one product for all fields together, dW = F^T dY, where row r of the feature matrix F holds
// a one for each category, the reals of each vector, and a one for each bias. It is exact but for bf16 inputs, and
// its order of summation does not depend on how often a value occurs.

// `size` is -1 for a category, else the number of reals (0: a bias alone). Offsets: `values` in words of the batch, `weight` in the
// weights ([size, columns], the bias line behind it if has_bias), `feature` the field's first column of F.
struct Field { int size, has_bias, values, weight, feature; };

__device__ __forceinline__ float embedding(
    const Field* fields, int count, const int* batch, const float* weights, int row, int col, int columns
) {
    float sum = 0.0f;
    for (int f = 0; f < count; f++) {
        Field field = fields[f];
        const float* weight = weights + field.weight + col;
        if (field.size < 0) {
            sum += weight[(size_t)batch[field.values + row] * columns];
        } else {
            const float* values = (const float*)batch + field.values + (size_t)row * field.size;
            for (int i = 0; i < field.size; i++) sum += values[i] * weight[(size_t)i * columns];
            if (field.has_bias) sum += weight[(size_t)field.size * columns];
        }
    }
    return sum;
}

// out [rows, columns] f32 = sum of embeddings, or += where `add`.
extern "C" __global__ void embed_rows(
    const Field* fields, int count, const int* batch, const float* weights, float* out, int rows, int columns, int add
) {
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    int row = at / columns, col = at % columns;
    if (row >= rows) return;
    float sum = embedding(fields, count, batch, weights, row, col, columns);
    out[at] = add ? out[at] + sum : sum;
}

// A hidden layer: before [rows, columns] bf16 = sum of embeddings, or += where `add`; after = GELU(before).
extern "C" __global__ void embed_gelu(
    const Field* fields, int count, const int* batch, const float* weights, bf16* before, bf16* after, int rows,
    int columns, int add
) {
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    int row = at / columns, col = at % columns;
    if (row >= rows) return;
    float sum = (add ? widen(before[at]) : 0.0f) + embedding(fields, count, batch, weights, row, col, columns);
    before[at] = narrow(sum);
    after[at] = narrow(gelu(sum));
}

// Writes each field's entries into the zeroed feature matrix [rows, columns]; one thread a row and field.
extern "C" __global__ void write_features(
    const Field* fields, int count, const int* batch, bf16* features, int rows, int columns
) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    int row = at / count;
    if (row >= rows) return;
    Field field = fields[at % count];
    bf16* line = features + (size_t)row * columns + field.feature;
    if (field.size < 0) {
        line[batch[field.values + row]] = 0x3f80;
        return;
    }
    const float* values = (const float*)batch + field.values + (size_t)row * field.size;
    for (int i = 0; i < field.size; i++) line[i] = narrow(values[i]);
    if (field.has_bias) line[field.size] = 0x3f80;
}

// to [count, WIDTH] = the named rows of from, zero for -1; one warp a row.
extern "C" __global__ void gather_rows(const bf16* from, const int* rows, bf16* to, int count) {
    int i = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (i >= count) return;
    float x[PER_LANE] = {};
    if (rows[i] >= 0) load_row(from + (size_t)rows[i] * WIDTH, x);
    store_row(to + (size_t)i * WIDTH, x);
}

// The named rows (distinct, but for -1) of to += from; one warp a row.
extern "C" __global__ void scatter_rows(const bf16* from, const int* rows, float* to, int count) {
    int i = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (i >= count || rows[i] < 0) return;
    float x[PER_LANE], sum[PER_LANE];
    float* line = to + (size_t)rows[i] * WIDTH;
    load_row(from + (size_t)i * WIDTH, x);
    load_row(line, sum);
#pragma unroll
    for (int j = 0; j < PER_LANE; j++) sum[j] += x[j];
    store_row(line, sum);
}
