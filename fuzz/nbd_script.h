// The acts of nbd_fuzz's input, each one byte and then what it takes.

#pragma once

#include <cstdint>

namespace paravane::fake {

enum class NbdAct : std::uint8_t {
  kBytes,        // how many u8, and these
  kHello,        // flags u8
  kOption,       // which u8, bytes of data u8, and these; 255: with so many more u16, zeros
  kQuery,        // INFO or GO u8, right name? u8, kinds wanted u8, of these u8 each
  kEnter,        // a right handshake: structured? u8
  kRequest,      // command u8, flags u8, blocks of offset u8, blocks of length u8, handle u8
  kOddRequest,   // command u8, flags u16, offset and length as hostile numbers
  kPayload,      // hundreds of bytes u8
  kRead,         // what the server has sent is read
  kConnect,      // the program connects anew: which u8
  kClose,        //
  kStopSending,  //
  kChoose,       // the program that acts from now on: u8
  kTime,         // milliseconds u16
  kHold,         // the device: held? u8
  kComplete,     // one request of the device: which u8
  kFail,         // the device's result from now on: u8
  kDelayReady,   // delayed? u8
  kTurn,         // the budget of a turn: hundreds of bytes u8, operations u8
  kCount
};

}  // namespace paravane::fake
