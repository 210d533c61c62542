// What a script of exchange_fuzz says.

#pragma once

#include <cstdint>

namespace paravane::fake {

// How far the process that was killed was with a request.
enum class ExchangeScene : std::uint8_t {
  kAnswered,  // all that came
  kWaiting,   // requests wait in the socket
  kSending,   // the VMM does not read
  kCount
};

// What an enemy has written into the file then.
enum class ExchangeAct : std::uint8_t {
  kByte,    // place (16 bits), value: any byte of its first page
  kWord,    // number of the word, number: any of the first 16 words of eight bytes
  kAnswer,  // place (16 bits), count, value: bytes of the answers
  kPlace,   // number: the offset of the file
  kSerial,  // bits: the serial of the state that was kept last is the file's, plus one, or less one
  kCount
};

}  // namespace paravane::fake
