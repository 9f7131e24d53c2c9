// Tensor-core pieces of attention. A block has four warps, each with one or two pieces of 16 rows (or keys, on their
// backward pass) that stay in registers; tiles of 64 keys (or rows) pass through shared memory. Two pieces a warp read
// each tile half as often; more would not fit into the registers.
// Fragments of mma.m16n8k16, with g = lane / 4 and t = lane % 4:
//   A [16, 16]: rows g and g + 8, columns 2t, 2t + 1 and 2t + 8, 2t + 9     B [16, 8]: the same of its transpose, row g
//   C [16, 8]:  rows g and g + 8, columns 2t, 2t + 1; two neighbouring C, rounded, are one A of the next product

constexpr int TILE = 64;
constexpr int THREADS = 128;
constexpr int DEPTH = HEAD_WIDTH / 16;      // steps of a product along the head's width
constexpr int PANELS = HEAD_WIDTH / 8;      // C fragments across the head's width
constexpr int STAGES = HEAD_WIDTH <= 32 ? 3 : 2;  // tiles in shared memory at once: the next ones arrive meanwhile
constexpr int ROW_PIECES = 2;               // pieces of rows a warp has
constexpr int KEY_PIECES = HEAD_WIDTH <= 32 ? 2 : 1;
constexpr int BLOCKS = HEAD_WIDTH <= 32 ? 3 : 2;  // of one multiprocessor, in the passes over rows
constexpr int PITCH = HEAD_WIDTH + 8;       // of a tile's line in shared memory: no two lines of ldmatrix share banks
constexpr int LINE = 3 * WIDTH;             // of queries, keys and values in memory

// Consecutive rows that see keys of one sequence: row r sees the first `seen + r * step` of `keys` keys.
struct RowTile { int row, rows, key, keys, seen, step; };

// Consecutive keys (the first has place `place` in its sequence), and the rows that may see them: history rows (where
// causal, those from the key's own place on) and query rows.
struct KeyTile { int key, keys, place, causal, row, rows, query, queries; };

__device__ __forceinline__ void multiply(float (&c)[4], const u32 (&a)[4], u32 b0, u32 b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// The same from zero, which costs no registers to clear.
__device__ __forceinline__ void multiply_first(float (&c)[4], const u32 (&a)[4], u32 b0, u32 b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%10,%10,%10};"
        : "=f"(c[0]), "=f"(c[1]), "=f"(c[2]), "=f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "f"(0.0f));
}

__device__ __forceinline__ u32 shared_address(const void* p) { return (u32)__cvta_generic_to_shared(p); }

// B fragments of two neighbouring panels (16 lines of the tile) for one step along its columns: C = A * tile^T.
__device__ __forceinline__ void load_lines(u32 (&b)[4], const bf16* tile, int line, int col) {
    int lane = threadIdx.x % 32;
    const bf16* at = tile + (line + (lane / 16) * 8 + lane % 8) * PITCH + col + (lane / 8 % 2) * 8;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3]) : "r"(shared_address(at)));
}

// B fragments of two neighbouring panels (16 columns of the tile) for one step along its lines: C = A * tile.
__device__ __forceinline__ void load_columns(u32 (&b)[4], const bf16* tile, int line, int col) {
    int lane = threadIdx.x % 32;
    const bf16* at = tile + (line + lane % 16) * PITCH + col + (lane / 16) * 8;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3]) : "r"(shared_address(at)));
}

// Starts copying a tile's lines (stride numbers apart in memory); lines from `valid` on become zero.
__device__ __forceinline__ void copy_tile(bf16* to, const bf16* from, int stride, int valid) {
#pragma unroll
    for (int i = threadIdx.x; i < TILE * PANELS; i += THREADS) {
        int line = i / PANELS, part = i % PANELS * 8;
        bool inside = line < valid;
        const bf16* source = inside ? from + (size_t)line * stride + part : from;
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                     :: "r"(shared_address(to + line * PITCH + part)), "l"(source), "r"(inside ? 16 : 0));
    }
}

__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;"); }
template <int PENDING> __device__ __forceinline__ void wait_copies() {
    asm volatile("cp.async.wait_group %0;" :: "n"(PENDING));
}

// A fragments of the warp's rows from memory; rows from `valid` (of the warp's) on are zero.
template <int M>
__device__ __forceinline__ void load_rows(u32 (&a)[M][DEPTH][4], const bf16* from, int stride, int valid) {
    int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
    for (int m = 0; m < M; m++) {
#pragma unroll
        for (int k = 0; k < DEPTH; k++) {
#pragma unroll
            for (int i = 0; i < 4; i++) {
                int row = m * 16 + g + (i % 2) * 8, col = k * 16 + 2 * t + (i / 2) * 8;
                a[m][k][i] = row < valid ? *(const u32*)(from + (size_t)row * stride + col) : 0;
            }
        }
    }
}

// c [16 * M, 8 * N] = rows * lines^T, for 8 * N lines of a tile.
template <int M, int N>
__device__ __forceinline__ void score(float (&c)[M][N][4], const u32 (&rows)[M][DEPTH][4], const bf16* lines) {
#pragma unroll
    for (int k = 0; k < DEPTH; k++) {
#pragma unroll
        for (int n = 0; n < N; n += 2) {
            u32 b[4];
            load_lines(b, lines, n * 8, k * 16);
#pragma unroll
            for (int m = 0; m < M; m++) {
                if (k == 0) {
                    multiply_first(c[m][n], rows[m][k], b[0], b[1]);
                    multiply_first(c[m][n + 1], rows[m][k], b[2], b[3]);
                } else {
                    multiply(c[m][n], rows[m][k], b[0], b[1]);
                    multiply(c[m][n + 1], rows[m][k], b[2], b[3]);
                }
            }
        }
    }
}

// c [16 * M, HEAD_WIDTH] += p [16 * M, 8 * N] * lines, p rounded to bf16.
template <int M, int N>
__device__ __forceinline__ void combine(float (&c)[M][PANELS][4], const float (&p)[M][N][4], const bf16* lines) {
#pragma unroll
    for (int k = 0; k < N / 2; k++) {
        u32 a[M][4];
#pragma unroll
        for (int m = 0; m < M; m++) {
            const float(&left)[4] = p[m][2 * k], (&right)[4] = p[m][2 * k + 1];
            a[m][0] = pack(left[0], left[1]), a[m][1] = pack(left[2], left[3]);
            a[m][2] = pack(right[0], right[1]), a[m][3] = pack(right[2], right[3]);
        }
#pragma unroll
        for (int n = 0; n < PANELS; n += 2) {
            u32 b[4];
            load_columns(b, lines, k * 16, n * 8);
#pragma unroll
            for (int m = 0; m < M; m++) {
                multiply(c[m][n], a[m], b[0], b[1]);
                multiply(c[m][n + 1], a[m], b[2], b[3]);
            }
        }
    }
}

// Writes 16 rows times a factor each (rows g and g + 8) as bf16.
__device__ __forceinline__ void store_rows(
    bf16* to, int stride, int valid, const float (&c)[PANELS][4], float upper, float lower
) {
    int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
    for (int n = 0; n < PANELS; n++) {
        bf16* at = to + n * 8 + 2 * t;
        if (g < valid) *(u32*)(at + (size_t)g * stride) = pack(c[n][0] * upper, c[n][1] * upper);
        if (g + 8 < valid) *(u32*)(at + (size_t)(g + 8) * stride) = pack(c[n][2] * lower, c[n][3] * lower);
    }
}

// Over the four lanes that share a row.
__device__ __forceinline__ float row_max(float x) {
    x = fmaxf(x, __shfl_xor_sync(ALL, x, 1));
    return fmaxf(x, __shfl_xor_sync(ALL, x, 2));
}
__device__ __forceinline__ float row_sum(float x) {
    x += __shfl_xor_sync(ALL, x, 1);
    return x + __shfl_xor_sync(ALL, x, 2);
}
