#include "device/commands/page_list.h"

#include <memory>
#include <utility>

#include "device/turn_effort.h"

namespace paravane::device {
namespace {

constexpr std::uint32_t kTablesPerSlice = 4;  // of 512 pages each
constexpr std::uint64_t kRunsPerPage = 256;   // of our own memory

class ListCommand final : public LongCommand {
 public:
  ListCommand(TurnEffort& effort, PageListBuilder builder, WithPages then)
      : effort_(effort),
        builder_(std::move(builder)),
        then_(std::move(then)),
        touched_(builder_.last_touched()) {}
  // What it has gathered is given back.
  ~ListCommand() override { effort_.spend(touched_ / kRunsPerPage); }
  ListCommand(const ListCommand&) = delete;
  ListCommand& operator=(const ListCommand&) = delete;

  Result<Progress> advance(Response& response) override {
    const Result<bool> done = builder_.advance(kTablesPerSlice);
    effort_.spend(builder_.last_touched());
    touched_ += builder_.last_touched();
    if (!done) return std::unexpected(done.error());
    if (!*done) return Progress::kLater;
    return then_(builder_.take(), response);
  }

 private:
  TurnEffort& effort_;
  PageListBuilder builder_;
  WithPages then_;
  std::uint64_t touched_;
};

}  // namespace

Result<std::optional<PageList>> start_list(CommandScope& scope, const WantedPages& wanted,
                                           std::optional<PageListBuilder>& builder) {
  auto started = PageListBuilder::start(scope.memory, wanted.directory, wanted.pages, wanted.need);
  if (!started) return std::unexpected(std::move(started).error());
  const Result<bool> done = started->advance(kTablesPerSlice);
  scope.effort.spend(started->last_touched());
  if (!done) return std::unexpected(done.error());
  if (*done) return started->take();
  builder = std::move(*started);
  return std::nullopt;
}

void finish_later(CommandScope& scope, PageListBuilder builder, WithPages then) {
  *scope.later = std::make_unique<ListCommand>(scope.effort, std::move(builder), std::move(then));
}

}  // namespace paravane::device
