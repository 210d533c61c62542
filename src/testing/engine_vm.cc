#include "testing/engine_vm.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "guestmem/page_list.h"

namespace paravane::fake {
namespace {

constexpr state::Tag kAdapterState{1};
constexpr state::Tag kNumber{1};
constexpr state::Tag kQueuePairState{2};

// A fake that cannot be set up ends the test program.
template <typename T>
T expect(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "engine vm: %s\n", result.error().message.c_str());
    std::abort();
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace

EngineVm::EngineVm(verbs::AdapterId id, TimerQueue& timers, verbs::FabricPort& port,
                   const verbs::Gid& gid, std::uint64_t ram_bytes,
                   const verbs::AdapterLimits& limits)
    : id_(id), limits_(limits), timers_(timers), port_(port), ram_(ram_bytes), gid_(gid) {
  ram_.show(memory_);
  adapter_ = make_adapter();
  pd_ = expect(adapter_->create_pd());
  expect(adapter_->bind_gid(0, gid_, verbs::GidType::kRoceV2));
  expect(adapter_->bind_gid(1, gid_, verbs::GidType::kRoceV1));
}

std::unique_ptr<verbs::Adapter> EngineVm::make_adapter() {
  return std::make_unique<verbs::Adapter>(id_, limits_, memory_, timers_, port_, events_);
}

std::vector<std::byte> EngineVm::save(std::span<EngineQp* const> qps) const {
  state::Writer out;
  {
    const state::Writer::Group group(out, kAdapterState);
    adapter_->save(out);
  }
  for (const EngineQp* qp : qps) {
    const state::Writer::Group group(out, kQueuePairState);
    out.number(kNumber, qp->qp->number());
    const state::Writer::Group rest(out, kQueuePairState);
    qp->qp->save(out);
  }
  return out.take();
}

void EngineVm::end_engine(std::span<EngineQp* const> qps) {
  for (EngineQp* qp : qps) {
    if (qp->qp == nullptr) continue;  // a state was refused
    qp->spec = qp->qp->spec();
    qp->qp.reset();
  }
  adapter_.reset();
  adapter_ = make_adapter();
}

Status EngineVm::load(std::span<const std::byte> state, std::span<EngineQp* const> qps) {
  state::Loading loading;
  state::Reader in(state, loading);
  state::Reader adapter = in.group(kAdapterState);
  adapter_->load(adapter, [](const verbs::RegionKind&) { return true; });
  for (EngineQp* qp : qps) {
    auto group = in.group_if(kQueuePairState);
    if (!group) {
      in.expect(!in.good(), "a queue pair is missing");
      break;
    }
    qp->spec.number = static_cast<std::uint32_t>(group->number(kNumber, UINT32_MAX));
    if (!group->good()) break;
    auto made = adapter_->create_qp(qp->spec);
    if (!made) return std::unexpected(made.error());
    qp->qp = std::move(*made);
    state::Reader rest = group->group(kQueuePairState);
    qp->qp->load(rest);
    group->end();
  }
  in.end();
  return loading.status();
}

EngineBuffer EngineVm::buffer(std::uint64_t length, verbs::AccessMask access, std::uint64_t offset,
                              bool contiguous) {
  const std::uint64_t pages = (offset + length + kPageBytes - 1) / kPageBytes;
  return registered(contiguous ? ram_.contiguous_pages(pages) : ram_.scattered_pages(pages), length,
                    access, offset);
}

EngineBuffer EngineVm::repeated_buffer(std::uint64_t length, std::uint64_t window) {
  const TestPages once = ram_.scattered_pages(window / kPageBytes);
  TestPages pages;
  for (std::uint64_t i = 0; i < length / kPageBytes; ++i) {
    pages.pages.push_back(once.pages.at(i % once.count()));
  }
  pages.directory = ram_.make_directory(pages.pages);
  return registered(std::move(pages), length, kEveryRight, 0);
}

EngineBuffer EngineVm::registered(TestPages pages, std::uint64_t length, verbs::AccessMask access,
                                  std::uint64_t offset) {
  EngineBuffer buffer{
      .pages = std::move(pages), .start = next_start_ + offset, .length = length, .key = 0};
  next_start_ += (buffer.pages.count() + 1) * kPageBytes;
  PageList list = expect(PageList::from_directory(memory_, buffer.pages.directory,
                                                  buffer.pages.count(), Rights::kReadWrite));
  buffer.key =
      expect(adapter_->regions().add_user(pd_, buffer.start, length, access, std::move(list)));
  return buffer;
}

void EngineVm::write(const EngineBuffer& buffer, std::uint64_t offset,
                     std::span<const std::byte> bytes) {
  for (std::uint64_t at = buffer.start % kPageBytes + offset; !bytes.empty();) {
    const std::uint64_t part = std::min<std::uint64_t>(bytes.size(), kPageBytes - at % kPageBytes);
    ram_.write_bytes(buffer.pages.at(at), bytes.first(part));
    bytes = bytes.subspan(part);
    at += part;
  }
}

std::vector<std::byte> EngineVm::read(const EngineBuffer& buffer, std::uint64_t offset,
                                      std::uint64_t length) const {
  std::vector<std::byte> bytes(length);
  std::span<std::byte> rest(bytes);
  for (std::uint64_t at = buffer.start % kPageBytes + offset; !rest.empty();) {
    const std::uint64_t part = std::min<std::uint64_t>(rest.size(), kPageBytes - at % kPageBytes);
    ram_.read_bytes(buffer.pages.at(at), rest.first(part));
    rest = rest.subspan(part);
    at += part;
  }
  return bytes;
}

std::vector<std::byte> EngineVm::pattern(std::uint64_t length, std::uint8_t seed) {
  std::vector<std::byte> bytes(length);
  std::uint32_t state = 0x9E37'79B9u * (seed + 1u);
  for (std::byte& byte : bytes) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

void EngineVm::fill(const EngineBuffer& buffer, std::uint8_t seed) {
  write(buffer, 0, pattern(buffer.length, seed));
}

std::unique_ptr<EngineQp> EngineVm::queue_pair(verbs::QpType type, bool signal_all,
                                               std::uint32_t number) {
  auto made = std::make_unique<EngineQp>();
  made->qp = expect(adapter_->create_qp(verbs::QueuePairSpec{.type = type,
                                                             .pd = pd_,
                                                             .tag = next_tag_++,
                                                             .number = number,
                                                             .send_cq = &made->sends,
                                                             .receive_cq = &made->receives,
                                                             .work = &made->work,
                                                             .signal_all = signal_all}));
  return made;
}

std::unique_ptr<EngineQp> EngineVm::sharing_queue_pair(ScriptedWork& shared, verbs::QpType type) {
  auto made = std::make_unique<EngineQp>(&shared);
  made->qp = expect(adapter_->create_qp(verbs::QueuePairSpec{.type = type,
                                                             .pd = pd_,
                                                             .tag = next_tag_++,
                                                             .send_cq = &made->sends,
                                                             .receive_cq = &made->receives,
                                                             .work = &made->work,
                                                             .shared_receives = pd_}));
  return made;
}

}  // namespace paravane::fake
