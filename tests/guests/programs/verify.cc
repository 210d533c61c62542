// paravane-verify: moves known bytes with every operation between two ends and
// compares each of them, and the bytes around them, at the receiver.
//
//   paravane-verify PORT                    the end that receives
//   paravane-verify PORT ADDRESS [--lossy]  the end that acts
//   paravane-verify --up-to BYTES ...       no message longer than that; both ends say so
//   paravane-verify --only OPERATION ...    that one, by the name that is printed; both ends say so
//   paravane-verify --timeout N ...         of the queue pair: 4.096 us * 2^N a try (17)
//
// Sizes lie around page, MTU and cache-line edges; buffers start at odd places;
// requests have one to three SGEs. Prints one line per operation. A request that fails
// ends both: bytes are judged only where somebody was told that they are there. On a path
// that is said to be lossy, a datagram that does not come is sent again.

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "endpoint.h"
#include "rendezvous.h"

namespace {

using guest::Endpoint;
using guest::Rendezvous;

constexpr std::size_t kBufferBytes = 4u << 20;
constexpr std::uint32_t kGrh = 40;
constexpr std::uint8_t kUntouched = 0xEE;
constexpr std::chrono::milliseconds kDatagramTime(200);  // on a lossy path
constexpr std::size_t kGuard = 64;                       // bytes on each side that must not change

enum class Operation : std::uint32_t {
  kSend,
  kSendImm,
  kWrite,
  kWriteImm,
  kRead,
  kFetchAdd,
  kCompareSwap,
  kDatagram
};
constexpr std::array kOperations = {
    Operation::kSend, Operation::kSendImm,  Operation::kWrite,       Operation::kWriteImm,
    Operation::kRead, Operation::kFetchAdd, Operation::kCompareSwap, Operation::kDatagram};

const char* name_of(Operation operation) {
  switch (operation) {
    case Operation::kSend: return "SEND";
    case Operation::kSendImm: return "SEND with immediate";
    case Operation::kWrite: return "RDMA WRITE";
    case Operation::kWriteImm: return "RDMA WRITE with immediate";
    case Operation::kRead: return "RDMA READ";
    case Operation::kFetchAdd: return "FETCH AND ADD";
    case Operation::kCompareSwap: return "COMPARE AND SWAP";
    case Operation::kDatagram: return "UD SEND";
  }
  return "?";
}

struct Case {
  Operation operation;
  std::uint32_t length;
  std::uint32_t at;  // where in both buffers
  std::uint32_t parts;
  std::uint32_t seed;
  bool lossy = false;  // the path loses datagrams
};

bool is_atomic(Operation operation) {
  return operation == Operation::kFetchAdd || operation == Operation::kCompareSwap;
}

// Words around a page's end, each of a few times.
std::vector<Case> atomic_cases_of(Operation operation) {
  std::vector<Case> cases;
  std::uint32_t seed = 1 + 1000 * static_cast<std::uint32_t>(operation);
  for (const std::uint32_t at : {4096u, 4104u, 8184u, 8192u}) {
    for (int again = 0; again < 8; ++again) {
      cases.push_back({.operation = operation, .length = 8, .at = at, .parts = 1, .seed = seed++});
    }
  }
  return cases;
}

std::vector<Case> cases_of(Operation operation, std::uint32_t up_to) {
  if (is_atomic(operation)) return atomic_cases_of(operation);
  constexpr std::array kLengths = {
      0u,    1u,     2u,     7u,     8u,     63u,     64u,     65u,      255u,    256u,
      257u,  1023u,  1024u,  1025u,  2047u,  2048u,   4095u,   4096u,    4097u,   8191u,
      8193u, 12345u, 65535u, 65536u, 65537u, 262144u, 262145u, 1048576u, 1048579u};
  constexpr std::array kStarts = {4096u, 4097u, 8191u, 4096u + 2048u};
  std::vector<Case> cases;
  std::uint32_t seed = 1 + 1000 * static_cast<std::uint32_t>(operation);
  for (const std::uint32_t length : kLengths) {
    if (length > up_to) continue;
    if (operation == Operation::kDatagram && length > 1024)
      continue;  // the port's MTU may be that small
    for (const std::uint32_t start : kStarts) {
      const std::uint32_t parts = length >= 3 ? 1 + seed % 3 : 1;
      cases.push_back(
          {.operation = operation, .length = length, .at = start, .parts = parts, .seed = seed++});
    }
  }
  return cases;
}

// Bytes that depend on every bit of the seed and on their place.
void fill(std::uint8_t* at, std::uint32_t length, std::uint32_t seed) {
  std::uint32_t x = seed * 2654435761u + 1;
  for (std::uint32_t i = 0; i < length; ++i) {
    x = x * 1664525u + 1013904223u;
    at[i] = static_cast<std::uint8_t>(x >> 24);
  }
}

bool holds(const std::uint8_t* at, std::uint32_t length, std::uint32_t seed, const Case& c) {
  std::vector<std::uint8_t> expected(length);
  fill(expected.data(), length, seed);
  if (length > 0 && std::memcmp(at, expected.data(), length) != 0) {
    std::printf("%s, %u bytes at %u: wrong bytes\n", name_of(c.operation), c.length, c.at);
    return false;
  }
  return true;
}

// What an atomic case finds in the word, and what it makes of it. Every second
// comparison fails and leaves the word as it was.
std::uint64_t word_before(const Case& c) {
  std::uint64_t word = 0;
  fill(reinterpret_cast<std::uint8_t*>(&word), sizeof word, c.seed);
  return word;
}
std::uint64_t compared(const Case& c) {
  return word_before(c) + c.seed % 2;
}
std::uint64_t operand(const Case& c) {
  return 0x0123'4567'89AB'CDEF * c.seed;
}
std::uint64_t word_after(const Case& c) {
  if (c.operation == Operation::kFetchAdd) return word_before(c) + operand(c);
  return compared(c) == word_before(c) ? operand(c) : word_before(c);
}

bool holds_word(const std::uint8_t* at, std::uint64_t word, const Case& c) {
  if (std::memcmp(at, &word, sizeof word) == 0) return true;
  std::printf("%s at %u: wrong bytes\n", name_of(c.operation), c.at);
  return false;
}

bool untouched(const std::uint8_t* from, const std::uint8_t* to, const Case& c) {
  if (std::all_of(from, to, [](std::uint8_t b) { return b == kUntouched; })) return true;
  std::printf("%s, %u bytes at %u: bytes outside were written\n", name_of(c.operation), c.length,
              c.at);
  return false;
}

bool expect(bool truth, const char* what, const Case& c) {
  if (!truth) std::printf("%s, %u bytes at %u: %s\n", name_of(c.operation), c.length, c.at, what);
  return truth;
}

bool is_datagram(Operation operation) {
  return operation == Operation::kDatagram;
}
bool takes_receive(Operation operation) {
  return operation != Operation::kWrite && operation != Operation::kRead && !is_atomic(operation);
}
bool has_imm(Operation operation) {
  return operation == Operation::kSendImm || operation == Operation::kWriteImm;
}

// How a case ended. Bytes are judged only where the request was said to be done.
enum class Verdict : std::uint8_t { kGood, kWrong, kFailed };

Verdict verdict(bool good) {
  return good ? Verdict::kGood : Verdict::kWrong;
}

Verdict failed(const ibv_wc& wc, const Case& c) {
  static_cast<void>(expect(false, ibv_wc_status_str(wc.status), c));
  return Verdict::kFailed;
}

bool may_be_lost(const Case& c) {
  return c.lossy && is_datagram(c.operation);
}

void post_receive(Endpoint& end, const Case& c, std::uint32_t room) {
  std::memset(end.buffer() + c.at - kGuard, kUntouched, room + 2 * kGuard);
  end.post_receive(is_datagram(c.operation), c.at, room,
                   room >= 3 ? static_cast<int>(1 + c.seed % 2) : 1);
}

// The receiving end's wait for its completion. On a lossy path the other end hears whether
// the datagram came, and one of an earlier case, late, is passed over.
ibv_wc wait_for_message(Endpoint& end, Rendezvous& peer, const Case& c, std::uint32_t room) {
  if (!may_be_lost(c)) return end.wait();
  for (int tries = 0; tries < 100;) {
    const std::optional<ibv_wc> wc = end.wait_for(kDatagramTime);
    if (wc && wc->status == IBV_WC_SUCCESS && wc->imm_data != htonl(c.seed)) {
      post_receive(end, c, room);
      continue;
    }
    peer.tell<std::uint32_t>(wc ? 1 : 0);
    if (wc) return *wc;
    ++tries;
  }
  guest::die("no datagram comes");
}

// The receiving end of one case.
Verdict receive(Endpoint& end, Rendezvous& peer, const Case& c) {
  std::uint8_t* target = end.buffer() + c.at;
  const std::uint32_t header = is_datagram(c.operation) ? kGrh : 0;
  const std::uint32_t room = c.length + header;
  std::memset(target - kGuard, kUntouched, room + 2 * kGuard);
  if (c.operation == Operation::kRead || is_atomic(c.operation)) fill(target, c.length, c.seed);
  if (takes_receive(c.operation)) post_receive(end, c, room);
  peer.tell<std::uint32_t>(1);  // ready
  bool good = true;
  if (takes_receive(c.operation)) {
    const ibv_wc wc = wait_for_message(end, peer, c, room);
    if (wc.status != IBV_WC_SUCCESS) return failed(wc, c);
    good &= expect(wc.byte_len == room, "wrong byte_len", c);
    if (has_imm(c.operation)) {
      good &= expect((wc.wc_flags & IBV_WC_WITH_IMM) != 0 && wc.imm_data == htonl(c.seed),
                     "wrong immediate", c);
    }
    if (is_datagram(c.operation)) {
      good &= expect((wc.wc_flags & IBV_WC_GRH) != 0 && wc.src_qp == end.other().ud_qpn,
                     "wrong source", c);
    }
  }
  if (peer.hear<std::uint32_t>() == 0) return Verdict::kFailed;  // at the other end
  good &= is_atomic(c.operation) ? holds_word(target, word_after(c), c)
                                 : holds(target + header, c.length, c.seed, c);
  good &=
      untouched(target - kGuard, target, c) && untouched(target + room, target + room + kGuard, c);
  return verdict(good);
}

// The acting end of one case. `lost` counts datagrams that had to be sent again.
Verdict act(Endpoint& end, Rendezvous& peer, const Case& c, int& lost) {
  std::uint8_t* source = end.buffer() + c.at;
  std::memset(source - kGuard, kUntouched, c.length + 2 * kGuard);
  if (c.operation != Operation::kRead && !is_atomic(c.operation)) fill(source, c.length, c.seed);
  ibv_send_wr request{};
  switch (c.operation) {
    case Operation::kSend: request.opcode = IBV_WR_SEND; break;
    case Operation::kDatagram: request.opcode = c.lossy ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND; break;
    case Operation::kSendImm: request.opcode = IBV_WR_SEND_WITH_IMM; break;
    case Operation::kWrite: request.opcode = IBV_WR_RDMA_WRITE; break;
    case Operation::kWriteImm: request.opcode = IBV_WR_RDMA_WRITE_WITH_IMM; break;
    case Operation::kRead: request.opcode = IBV_WR_RDMA_READ; break;
    case Operation::kFetchAdd: request.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD; break;
    case Operation::kCompareSwap: request.opcode = IBV_WR_ATOMIC_CMP_AND_SWP; break;
  }
  if (has_imm(c.operation) || may_be_lost(c)) request.imm_data = htonl(c.seed);
  if (is_atomic(c.operation)) {
    request.wr.atomic = {
        .remote_addr = end.other().buffer + c.at,
        .compare_add = c.operation == Operation::kFetchAdd ? operand(c) : compared(c),
        .swap = operand(c),
        .rkey = end.other().rkey};
  } else {
    request.wr.rdma = {.remote_addr = end.other().buffer + c.at, .rkey = end.other().rkey};
  }
  peer.hear<std::uint32_t>();  // the other end is ready
  const auto send = [&] {
    end.post_send(is_datagram(c.operation), request, c.at, c.length, static_cast<int>(c.parts));
    return end.wait();
  };
  ibv_wc wc = send();
  while (wc.status == IBV_WC_SUCCESS && may_be_lost(c) && peer.hear<std::uint32_t>() == 0) {
    ++lost;
    wc = send();
  }
  if (wc.status != IBV_WC_SUCCESS) {
    peer.tell<std::uint32_t>(0);
    return failed(wc, c);
  }
  bool good = is_atomic(c.operation) ? holds_word(source, word_before(c), c)
                                     : holds(source, c.length, c.seed, c);
  good &= untouched(source - kGuard, source, c) &&
          untouched(source + c.length, source + c.length + kGuard, c);
  peer.tell<std::uint32_t>(1);
  return verdict(good);
}

}  // namespace

int main(int argc, char** argv) {
  std::uint32_t up_to = std::numeric_limits<std::uint32_t>::max();
  std::string only;
  guest::Patience patience;
  for (; argc > 2 && std::strncmp(argv[1], "--", 2) == 0; argc -= 2, argv += 2) {
    if (std::strcmp(argv[1], "--up-to") == 0) {
      up_to = static_cast<std::uint32_t>(std::strtoul(argv[2], nullptr, 10));
    } else if (std::strcmp(argv[1], "--only") == 0) {
      only = argv[2];
    } else if (std::strcmp(argv[1], "--timeout") == 0) {
      patience.timeout = static_cast<std::uint8_t>(std::atoi(argv[2]));
    } else {
      break;
    }
  }
  bool lossy = argc == 4 && std::strcmp(argv[3], "--lossy") == 0;
  if (argc < 2 || argc > 4 || (argc == 4 && !lossy)) {
    guest::die(
        "usage: paravane-verify [--up-to BYTES] [--only OPERATION] [--timeout N] PORT "
        "[ADDRESS [--lossy]]");
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // what it saw is known though it is killed
  const auto port = static_cast<std::uint16_t>(std::atoi(argv[1]));
  const bool acting = argc >= 3;
  Endpoint end(kBufferBytes);
  Rendezvous peer = acting ? Rendezvous::reach(argv[2], port) : Rendezvous::serve(port);
  end.connect(peer, patience);
  peer.tell<std::uint32_t>(lossy ? 1 : 0);
  lossy = peer.hear<std::uint32_t>() == 1 || lossy;
  int bad = 0;
  const auto is_wanted = [&](Operation operation) {
    return only.empty() || only == name_of(operation);
  };
  if (std::ranges::none_of(kOperations, is_wanted)) guest::die("no operation is called " + only);
  for (const Operation operation : kOperations) {
    if (!is_wanted(operation)) continue;
    int done = 0;
    int wrong = 0;
    int lost = 0;
    for (Case c : cases_of(operation, up_to)) {
      c.lossy = lossy;
      const Verdict verdict = acting ? act(end, peer, c, lost) : receive(end, peer, c);
      if (verdict == Verdict::kFailed) return 1;  // and nothing works after it
      if (verdict == Verdict::kWrong) ++wrong;
      ++done;
    }
    std::printf("%s: %d cases, %d wrong, %d lost\n", name_of(operation), done, wrong, lost);
    bad += wrong;
  }
  return bad == 0 ? 0 : 1;
}
