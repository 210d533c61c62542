// edited(): a state in which one record is another, as an enemy would write it. without(): one that
// lacks a record, as a program writes it that does not know the record yet.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <span>
#include <vector>

#include "state/tag.h"
#include "state/writer.h"

namespace paravane {

using StateBytes = std::vector<std::byte>;
// Makes new bytes of the record's, without its header.
using StateEdit = std::function<StateBytes(std::span<const std::byte>)>;

// `path`: the tags that lead to the record; of a list it is the first. Ends the test program when
// it is not there.
inline StateBytes edited(std::span<const std::byte> state, std::span<const std::uint16_t> path,
                         const StateEdit& edit) {
  StateBytes out;
  bool is_found = false;
  while (!state.empty()) {
    state::RecordHeader header;
    if (state.size() < sizeof header) std::abort();
    std::memcpy(&header, state.data(), sizeof header);
    std::span<const std::byte> value = state.subspan(sizeof header, header.bytes.get());
    state = state.subspan(sizeof header + value.size());
    StateBytes changed(value.begin(), value.end());
    if (!is_found && header.tag.get() == path.front()) {
      is_found = true;
      changed = path.size() == 1 ? edit(value) : edited(value, path.subspan(1), edit);
    }
    header.bytes = Le32(static_cast<std::uint32_t>(changed.size()));
    const auto raw = std::as_bytes(std::span(&header, 1));
    out.insert(out.end(), raw.begin(), raw.end());
    out.insert(out.end(), changed.begin(), changed.end());
  }
  if (!is_found) std::abort();
  return out;
}

// Without the records of that tag, which are in no group.
inline StateBytes without(std::span<const std::byte> state, std::uint16_t tag) {
  StateBytes out;
  while (!state.empty()) {
    state::RecordHeader header;
    if (state.size() < sizeof header) std::abort();
    std::memcpy(&header, state.data(), sizeof header);
    const auto record = state.first(sizeof header + header.bytes.get());
    if (header.tag.get() != tag) out.insert(out.end(), record.begin(), record.end());
    state = state.subspan(record.size());
  }
  return out;
}

// The bytes of a number, of another number.
inline StateEdit to_number(std::uint64_t number) {
  return [number](std::span<const std::byte>) {
    state::Writer out;
    out.number(state::Tag{}, number);
    StateBytes bytes = out.take();
    bytes.erase(bytes.begin(), bytes.begin() + sizeof(state::RecordHeader));
    return bytes;
  };
}

}  // namespace paravane
