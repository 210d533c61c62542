// What an MPI program does, with every result looked at: sums over all ranks, and
// messages there and back between the first two. usage: mpi_exchange [ROUNDS]
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { kLargest = 4 << 20 };

static int rank, ranks;

static void fail(const char* what, long size, long index) {
  printf("rank %d: %s of %ld: wrong at %ld\n", rank, what, size, index);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

// Differs between messages, senders and places.
static uint32_t pattern(uint32_t seed, uint32_t index) {
  return (seed + index) * 2654435761u;
}

static void fill(uint32_t* words, long count, uint32_t seed) {
  for (long i = 0; i < count; ++i) words[i] = pattern(seed, (uint32_t)i);
}

static void check(const uint32_t* words, long count, uint32_t seed) {
  for (long i = 0; i < count; ++i) {
    if (words[i] != pattern(seed, (uint32_t)i)) fail("message", count, i);
  }
}

static void sums(long count, int64_t* mine, int64_t* all) {
  for (long i = 0; i < count; ++i) mine[i] = (rank + 1) * i;
  MPI_Allreduce(mine, all, (int)count, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  for (long i = 0; i < count; ++i) {
    if (all[i] != (int64_t)ranks * (ranks + 1) / 2 * i) fail("allreduce", count, i);
  }
}

static void ping_pong(long count, int rounds, uint32_t* words) {
  for (int round = 0; round < rounds && rank < 2; ++round) {
    const uint32_t seed = (uint32_t)(round * 2);
    if (rank == 0) {
      fill(words, count, seed);
      MPI_Send(words, (int)count, MPI_UINT32_T, 1, round, MPI_COMM_WORLD);
    }
    MPI_Recv(words, (int)count, MPI_UINT32_T, 1 - rank, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check(words, count, rank == 0 ? seed + 1 : seed);
    if (rank == 1) {
      fill(words, count, seed + 1);
      MPI_Send(words, (int)count, MPI_UINT32_T, 0, round, MPI_COMM_WORLD);
    }
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int rounds = argc > 1 ? atoi(argv[1]) : 10;
  char host[MPI_MAX_PROCESSOR_NAME];
  int length;
  MPI_Get_processor_name(host, &length);
  void* first = malloc(kLargest);
  void* second = malloc(kLargest);
  if (!first || !second) fail("memory", kLargest, 0);
  for (long size = 8; size <= kLargest; size *= 8) {
    sums(size / 8, first, second);
    ping_pong(size / 4, rounds, first);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  printf("rank %d of %d on %s: all right\n", rank, ranks, host);
  free(first);
  free(second);
  MPI_Finalize();
  return 0;
}
