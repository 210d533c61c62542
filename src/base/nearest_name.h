// Suggests the name that a user probably meant: the one with the smallest edit distance to the
// input, unless that is too large. Names that differ only in digits are treated as different
// objects: vmk7 is not a typo for vmk0, though db11 may be one for db1.
//
// Any thread.

#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace paravane {

// Two neighbours that have changed places count as one step: it is how people mistype.
inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before;  // two rows ago
  std::vector<std::size_t> last(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::vector<std::size_t> row(b.size() + 1, i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      row[j + 1] = std::min({last[j] + (a[i] == b[j] ? 0 : 1), row[j] + 1, last[j + 1] + 1});
      const bool swapped = i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j];
      if (swapped) row[j + 1] = std::min(row[j + 1], before[j - 1] + 1);
    }
    before = std::exchange(last, std::move(row));
  }
  return last.back();
}

// "vmk12" is "vmk#".
inline std::string without_number(std::string_view name) {
  std::string shape;
  for (const char c : name) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit) shape += c;
    if (digit && !shape.ends_with('#')) shape += '#';
  }
  return shape;
}

// Another of the same kind, unless a digit was typed once too often or was left out.
inline bool is_sibling(std::string_view typed, std::string_view name) {
  if (without_number(typed) != without_number(name)) return false;
  return typed.size() == name.size() || edit_distance(typed, name) > 1;
}

// nullopt: none is near: half of what was typed would have to change, and there is not just
// one that begins so.
template <typename Names>
std::optional<std::string> nearest_name(std::string_view typed, const Names& names) {
  std::optional<std::string> best;
  std::size_t least = std::max<std::size_t>(typed.size() / 2, 1) + 1;
  for (const std::string& name : names) {
    const std::size_t distance = edit_distance(typed, name);
    if (distance >= least || is_sibling(typed, name)) continue;
    least = distance;
    best = name;
  }
  if (best || typed.size() < 2) return best;
  for (const std::string& name : names) {
    if (!std::string_view(name).starts_with(typed)) continue;
    if (best) return std::nullopt;
    best = name;
  }
  return best;
}

// "Do you mean db1? " before what is advised otherwise; empty: none is near.
template <typename Names>
std::string do_you_mean(std::string_view typed, const Names& names) {
  const auto near = nearest_name(typed, names);
  return near ? "Do you mean " + *near + "? " : std::string();
}

}  // namespace paravane
