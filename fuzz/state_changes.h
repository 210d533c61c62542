// StateChanges: what a script does to a saved state, and to the descriptors that belong to it,
// before another process reads them: as an enemy would who knows the form of records.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "base/wire_int.h"
#include "fuzz_bytes.h"

namespace paravane::fake {

enum class StateAct : std::uint8_t {
  kByte,     // place (16 bits), value: any byte of the state
  kNumber,   // record (16 bits), number: another number
  kDrop,     // record
  kTwice,    // record
  kLonger,   // record, bytes: so many zeros are added, or taken away
  kSwap,     // record, record: their values
  kNoFd,     // descriptor: it did not come
  kOtherFd,  // descriptor, kind
  kSwapFds,  // descriptor, descriptor
  kCut,      // length (16 bits): of the state
  kInside,   // record, place (16 bits), bits: are another number's in the record
  kCount
};

enum class StateFd : std::uint8_t {
  kEventfd,
  kMemory,
  kReadOnlyMemory,
  kEmptyMemory,
  kNothing,  // /dev/null
  kSocket,
  kClient,  // the other end of the VMM's
  kCount
};

// Of this process. Pipes are the sanitizers', and /dev/null is what a first signal opens.
std::size_t open_descriptors();
UniqueFd memory_file(std::uint64_t bytes);
UniqueFd read_only(const UniqueFd& file);

// A record, with those in it if it is a group.
struct StateRecord {
  Le16 tag;
  std::vector<std::byte> value;
  std::vector<StateRecord> inside;
  bool is_group = false;

  std::vector<std::byte> bytes() const;
};

class StateChanges {
 public:
  // `client`: the VMM's end of its socket; -1: none. REQUIRES: the bytes are a state.
  StateChanges(FuzzBytes& script, std::vector<std::byte>& bytes, std::vector<UniqueFd>& descriptors,
               int client);

  // At most 20 of them.
  void make();

 private:
  struct Place;
  static void collect(std::vector<StateRecord>& list, std::vector<Place>& all);
  std::optional<Place> pick();
  void act();
  void act_on_descriptors(StateAct act);
  void set_number();
  void resize();
  void swap();
  void change_inside();
  UniqueFd* pick_fd();
  UniqueFd another_fd();

  FuzzBytes& script_;
  std::vector<std::byte>& state_;
  std::vector<UniqueFd>& descriptors_;
  int client_;
  std::vector<StateRecord> records_;
  std::vector<std::pair<std::uint16_t, std::byte>> bytes_;
  std::optional<std::uint16_t> cut_;
};

}  // namespace paravane::fake
