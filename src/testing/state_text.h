// A saved state as text, which people can read and compare: a record a line, with its tag and its
// bytes, or `{` and the records of a group. A `?` after a tag: a reader may pass the record by.
// Long values go on in lines that begin with `+`. `#` begins a comment.
//
//   11 {
//     1 07
//     4? 005056010201
//   }
//
// Stateless, any thread. A text that has another form ends the test program.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "state/tag.h"

namespace paravane {

class StateText {
 public:
  using Bytes = std::vector<std::byte>;

  static std::string of(std::span<const std::byte> state) {
    std::string text;
    write(*parse(state), 0, text);
    return text;
  }
  // Its tags alone, and of a list those that are not as the one before: what changes when other
  // things are saved, and not when they have other values.
  static std::string form_of(std::span<const std::byte> state) { return form(*parse(state), 0); }
  static Bytes read(const std::string& text) {
    std::istringstream in(text);
    return read(in, 0);
  }

 private:
  static constexpr std::size_t kBytesInLine = 48;

  struct Record {
    std::uint16_t tag;
    std::span<const std::byte> value;
  };

  // nullopt: no records.
  static std::optional<std::vector<Record>> parse(std::span<const std::byte> bytes) {
    std::vector<Record> records;
    std::uint16_t last = 0;
    while (!bytes.empty()) {
      state::RecordHeader header;
      if (bytes.size() < sizeof header) return std::nullopt;
      std::memcpy(&header, bytes.data(), sizeof header);
      const std::uint16_t place = state::place_of(state::Tag{header.tag.get()});
      const bool is_record =
          header.bytes.get() <= bytes.size() - sizeof header && place >= last && place > 0;
      if (!is_record) return std::nullopt;
      last = place;
      records.push_back({header.tag.get(), bytes.subspan(sizeof header, header.bytes.get())});
      bytes = bytes.subspan(sizeof header + header.bytes.get());
    }
    return records;
  }

  static void write(const std::vector<Record>& records, std::size_t depth, std::string& text) {
    const std::string indent(2 * depth, ' ');
    for (const auto& [tag, value] : records) {
      text += indent + std::to_string(state::place_of(state::Tag{tag}));
      if (state::may_be_skipped(state::Tag{tag})) text += '?';
      const auto inside = value.empty() ? std::nullopt : parse(value);
      if (inside) {
        text += " {\n";
        write(*inside, depth + 1, text);
        text += indent + "}\n";
        continue;
      }
      for (std::size_t at = 0; at < value.size(); ++at) {
        if (at != 0 && at % kBytesInLine == 0) text += "\n" + indent + "+";
        if (at % kBytesInLine == 0) text += ' ';
        const auto byte = std::to_integer<unsigned>(value[at]);
        text += "0123456789abcdef"[byte >> 4];
        text += "0123456789abcdef"[byte & 15];
      }
      text += '\n';
    }
  }

  static std::string form(const std::vector<Record>& records, std::size_t depth) {
    std::string text;
    std::string last;
    for (const auto& [tag, value] : records) {
      const auto inside = value.empty() ? std::nullopt : parse(value);
      std::string one = std::string(2 * depth, ' ') +
                        std::to_string(state::place_of(state::Tag{tag})) +
                        (state::may_be_skipped(state::Tag{tag}) ? "?\n" : "\n") +
                        (inside ? form(*inside, depth + 1) : "");
      if (one != last) text += one;
      last = std::move(one);
    }
    return text;
  }

  static void append(Bytes& out, std::uint16_t tag, const Bytes& value) {
    const state::RecordHeader header{.tag = Le16(tag),
                                     .bytes = Le32(static_cast<std::uint32_t>(value.size()))};
    const auto raw = std::as_bytes(std::span(&header, 1));
    out.insert(out.end(), raw.begin(), raw.end());
    out.insert(out.end(), value.begin(), value.end());
  }

  static void read_hex(std::string_view digits, Bytes& value) {
    if (digits.size() % 2 != 0) std::abort();
    for (std::size_t at = 0; at < digits.size(); at += 2) {
      const std::string pair(digits.substr(at, 2));
      char* end = nullptr;
      value.push_back(static_cast<std::byte>(std::strtoul(pair.c_str(), &end, 16)));
      if (*end != '\0') std::abort();
    }
  }

  static Bytes read(std::istream& in, unsigned depth) {
    Bytes out;
    std::optional<std::uint16_t> tag;  // of the record that may go on
    Bytes value;
    const auto finish = [&] {
      if (tag) append(out, *tag, value);
      tag.reset();
      value.clear();
    };
    for (std::string line; std::getline(in, line);) {
      std::istringstream words(line.substr(0, line.find('#')));
      std::string first;
      std::string second;
      if (!(words >> first)) continue;
      words >> second;
      if (first == "+") {
        if (!tag) std::abort();
        read_hex(second, value);
        continue;
      }
      finish();
      if (first == "}") {
        if (depth == 0) std::abort();
        return out;
      }
      const unsigned long place = std::strtoul(first.c_str(), nullptr, 10);
      if (place == 0 || place >= state::kMayBeSkipped) std::abort();
      tag = static_cast<std::uint16_t>(place | (first.back() == '?' ? state::kMayBeSkipped : 0U));
      if (second != "{") {
        read_hex(second, value);
        continue;
      }
      append(out, *tag, read(in, depth + 1));
      tag.reset();
    }
    if (depth != 0) std::abort();
    finish();
    return out;
  }
};

}  // namespace paravane
