// Descriptors: the open files that belong to a state. They travel beside its bytes, and a record
// says by a number which one it means.
//
// While a state is saved, they are borrowed, and stand in the order in which they were saved. While
// it is loaded, Descriptors owns those that came with it, and gives each away once. What a state
// does not name is closed with this object. A descriptor may come from an enemy, as the bytes do:
// whatever takes one checks what kind of file it is.
//
// One thread.

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/unique_fd.h"
#include "state/reader.h"
#include "state/tag.h"
#include "state/writer.h"

namespace paravane::state {

class Descriptors {
 public:
  // Of one state. What is saved above that is refused when it is loaded.
  static constexpr std::size_t kMost = 4096;

  // To save.
  Descriptors() = default;
  // To load: those that came with the state, in the order of borrowed().
  explicit Descriptors(std::vector<UniqueFd> received);

  // ---- While a state is saved ----
  // Writes which one `fd` is. It must stay open until it has been sent. REQUIRES: fd >= 0.
  void save(Writer& out, Tag tag, int fd);
  std::span<const int> borrowed() const { return borrowed_; }

  // ---- While it is loaded ----
  // The descriptor that the record means. Empty, and the state is refused: there is no such record
  // or descriptor, or it was given away before.
  UniqueFd load(Reader& in, Tag tag);
  // The same, but empty without a refusal if there is no such record; the next of a list, too.
  UniqueFd load_if(Reader& in, Tag tag);

 private:
  UniqueFd give_away(Reader& in, std::uint64_t number);

  std::vector<int> borrowed_;
  std::vector<UniqueFd> received_;
};

}  // namespace paravane::state
