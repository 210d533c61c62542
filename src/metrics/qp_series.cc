#include "metrics/qp_series.h"

#include <algorithm>
#include <utility>

namespace paravane::metrics {
namespace {

using model::QpStats;

constexpr std::array kMembers = {&model::QpStats::sends,      &model::QpStats::receives,
                                 &model::QpStats::sent_bytes, &model::QpStats::received_bytes,
                                 &model::QpStats::errors,     &model::QpStats::rnr_waits,
                                 &model::QpStats::retries};

constexpr std::array kWords = {&model::QpStats::type, &model::QpStats::path,
                               &model::QpStats::peer_gid, &model::QpStats::peer_host,
                               &model::QpStats::why};

std::uint64_t traffic(const model::QpStats& qp) {
  return qp.sent_bytes + qp.received_bytes + qp.sends + qp.receives;
}

}  // namespace

QpSeries::Counts QpSeries::counts_of(const model::QpStats& qp) {
  Counts counts{};
  for (std::size_t i = 0; i < kCounts; ++i) counts[i] = qp.*kMembers[i];
  return counts;
}

void QpSeries::add_to_other(const Counts& counts, const Counts& before) {
  // One that counts less than before is another of the same number.
  const bool is_same = std::ranges::equal(before, counts, std::less_equal());
  for (std::size_t i = 0; i < kCounts; ++i) {
    other_.*kMembers[i] += counts[i] - (is_same ? before[i] : 0);
  }
}

void QpSeries::show(Holder& holder, model::QpStats& qp, Instant now) {
  static_assert(kWords.size() == std::tuple_size_v<Words>);
  holder.seen = true;
  Words words;
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = qp.*kWords[i];
  if (words == holder.words) return;
  if (now - holder.since >= kRest) {
    holder.words = std::move(words);
    holder.since = now;
    return;
  }
  for (std::size_t i = 0; i < words.size(); ++i) qp.*kWords[i] = holder.words[i];
}

void QpSeries::look(std::vector<model::QpStats> all, Instant now) {
  static_assert(kMembers.size() == kCounts);
  std::erase_if(resting_, [now](Instant until) { return until <= now; });
  for (auto& [number, holder] : holders_) holder.seen = false;
  for (const model::QpStats& qp : all) {
    if (const auto holder = holders_.find(qp.number); holder != holders_.end()) {
      holder->second.seen = true;
    }
  }
  for (auto holder = holders_.begin(); holder != holders_.end();) {
    if (holder->second.seen) {
      ++holder;
    } else {
      holder = holders_.erase(holder);
      resting_.push_back(now + kRest);
    }
  }
  // The busiest first; of two alike the older number.
  std::ranges::sort(all, [](const model::QpStats& a, const model::QpStats& b) {
    return std::pair(traffic(b), a.number) < std::pair(traffic(a), b.number);
  });
  std::map<std::uint32_t, Counts> others;
  shown_.clear();
  for (model::QpStats& qp : all) {
    const bool has_place = holders_.contains(qp.number);
    // A queue pair counted with the others stays there, or its counts would be counted twice.
    const bool may_have = traffic(qp) > 0 && !others_.contains(qp.number) &&
                          holders_.size() + resting_.size() < places_;
    if (has_place || may_have) {
      const Holder fresh{.seen = true, .words = {}, .since = now - kRest};
      show(holders_.try_emplace(qp.number, fresh).first->second, qp, now);
      shown_.push_back(std::move(qp));
      continue;
    }
    if (traffic(qp) == 0) continue;
    const Counts counts = counts_of(qp);
    const auto before = others_.find(qp.number);
    add_to_other(counts, before != others_.end() ? before->second : Counts{});
    others.emplace(qp.number, counts);
  }
  others_ = std::move(others);
  std::ranges::sort(shown_, {}, &model::QpStats::number);
}

}  // namespace paravane::metrics
