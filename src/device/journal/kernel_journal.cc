#include "device/journal/kernel_journal.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "device/queues/work_ring.h"
#include "guestmem/ring_index.h"

namespace paravane::device {
namespace {

constexpr int kSize = F_SEAL_SHRINK | F_SEAL_GROW;
constexpr std::size_t kFirstRecord = 4096;
constexpr std::uint32_t kOfReceives = 1u << 31;

// Of what was noted: the index of the first, and how many there are, in one word.
constexpr std::uint64_t pack(std::uint32_t index, std::uint32_t count) {
  return std::uint64_t{index} << 32 | count;
}

}  // namespace

// A process may be killed between any two stores, so each is made after all that it speaks of.
struct KernelJournal::Page {
  std::atomic<std::uint64_t> command;  // how many there were
  std::atomic<std::uint64_t> request;  // of the VMM, which announced the last one
  std::atomic<std::uint32_t> has_ended;
  std::atomic<std::uint32_t> error;
  std::atomic<std::uint32_t> cqs_end;
  std::atomic<std::uint32_t> qps_end;
};

struct KernelJournal::Note {
  std::uint32_t qp;
  std::uint32_t place;  // kOfReceives, and the index that its ring reaches
};

struct KernelJournal::CqRecord {
  std::atomic<std::uint64_t> made;  // number of the command; 0: no object
  std::uint64_t directory;
  std::uint32_t entries;
  std::uint32_t reserved;
  std::atomic<std::uint64_t> noted;
  std::array<Note, kMostNoted> notes;
};

struct KernelJournal::QpRecord {
  std::atomic<std::uint64_t> made;
  std::uint64_t directory;
  std::uint32_t send_cq;
  std::uint32_t receive_cq;
  std::uint32_t send_requests;
  std::uint32_t receive_requests;
  std::uint32_t send_sges;
  std::uint32_t receive_sges;
  std::uint32_t is_datagram;
  std::atomic<std::uint32_t> is_started;
  std::atomic<std::uint32_t> send_undone;
  std::atomic<std::uint32_t> receive_undone;
};

KernelJournal::KernelJournal(UniqueFd file, std::byte* base, const DeviceLimits& limits)
    : file_(std::move(file)),
      base_(base),
      cqs_(limits.completion_queues),
      qps_(limits.queue_pairs) {}

KernelJournal::KernelJournal(KernelJournal&& other) noexcept
    : file_(std::move(other.file_)),
      base_(std::exchange(other.base_, nullptr)),
      cqs_(other.cqs_),
      qps_(other.qps_),
      serial_(std::move(other.serial_)),
      rings_(std::move(other.rings_)) {}

KernelJournal::~KernelJournal() {
  if (base_ != nullptr) ::munmap(base_, bytes());
}

std::size_t KernelJournal::bytes() const {
  return kFirstRecord + cqs_ * sizeof(CqRecord) + qps_ * sizeof(QpRecord);
}

std::size_t KernelJournal::bytes_of(const DeviceLimits& limits) {
  return kFirstRecord + limits.completion_queues * sizeof(CqRecord) +
         limits.queue_pairs * sizeof(QpRecord);
}

// Pages of the file that hold no record take no memory.
Result<KernelJournal> KernelJournal::make(const DeviceLimits& limits) {
  UniqueFd file(::memfd_create("paravane-journal", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file) return fail_by_system(Errc::kResourceExhausted, "cannot create a file", errno);
  if (::ftruncate(file.get(), static_cast<off_t>(bytes_of(limits))) != 0 ||
      ::fcntl(file.get(), F_ADD_SEALS, kSize | F_SEAL_SEAL) != 0) {
    return fail_by_system(Errc::kIo, "cannot prepare a file", errno);
  }
  return map(std::move(file), limits, MAP_SHARED);
}

// A file that can become shorter would end the process that reads it.
Result<KernelJournal> KernelJournal::take_over(UniqueFd file, const DeviceLimits& limits) {
  const int seals = ::fcntl(file.get(), F_GET_SEALS);
  struct stat status{};
  if (seals < 0 || (seals & kSize) != kSize || ::fstat(file.get(), &status) != 0 ||
      status.st_size != static_cast<off_t>(bytes_of(limits))) {
    return fail(Errc::kInvalidArgument, "this is not the journal of such a device");
  }
  return map(std::move(file), limits, MAP_PRIVATE);
}

Result<KernelJournal> KernelJournal::map(UniqueFd file, const DeviceLimits& limits, int flags) {
  void* const at = ::mmap(nullptr, bytes_of(limits), PROT_READ | PROT_WRITE, flags, file.get(), 0);
  if (at == MAP_FAILED) return fail_by_system(Errc::kIo, "cannot map a file", errno);
  return KernelJournal(std::move(file), static_cast<std::byte*>(at), limits);
}

void KernelJournal::begin_writing() {
  map_again(MAP_SHARED);
}

void KernelJournal::end_writing() {
  map_again(MAP_PRIVATE);
}

// A process that cannot do it must not go on: it would not keep the journal true, or would write to
// that of another one.
void KernelJournal::map_again(int flags) {
  void* const at =
      ::mmap(base_, bytes(), PROT_READ | PROT_WRITE, flags | MAP_FIXED, file_.get(), 0);
  if (at == MAP_FAILED) std::abort();
}

KernelJournal::Page& KernelJournal::page() const {
  return *reinterpret_cast<Page*>(base_);
}

KernelJournal::CqRecord& KernelJournal::cq_at(std::uint32_t handle) const {
  return reinterpret_cast<CqRecord*>(base_ + kFirstRecord)[handle];
}

KernelJournal::QpRecord& KernelJournal::qp_at(std::uint32_t handle) const {
  return reinterpret_cast<QpRecord*>(base_ + kFirstRecord + cqs_ * sizeof(CqRecord))[handle];
}

KernelJournal::CqRecord* KernelJournal::cq_record(std::uint32_t handle) const {
  return handle < cqs_end() ? &cq_at(handle) : nullptr;
}

KernelJournal::QpRecord* KernelJournal::qp_record(std::uint32_t handle) const {
  return handle < qps_end() ? &qp_at(handle) : nullptr;
}

// ---- Commands ----

void KernelJournal::begin_command() {
  page().has_ended.store(0, std::memory_order_relaxed);
  page().request.store(serial_ ? serial_() : kNoRequest, std::memory_order_relaxed);
  page().command.store(page().command.load(std::memory_order_relaxed) + 1,
                       std::memory_order_release);
}

void KernelJournal::end_command() {
  page().has_ended.store(1, std::memory_order_release);
}

void KernelJournal::set_error(std::uint32_t error) {
  page().error.store(error, std::memory_order_release);
}

// ---- Objects ----

void KernelJournal::add_cq(std::uint32_t handle, const Cq& cq) {
  assert(handle < cqs_);
  // Records beyond the end are those of an earlier driver.
  for (std::uint32_t end = cqs_end(); end <= handle; ++end) {
    cq_at(end).made.store(0, std::memory_order_relaxed);
    page().cqs_end.store(end + 1, std::memory_order_release);
  }
  CqRecord& record = *cq_record(handle);
  record.directory = cq.directory.value;
  record.entries = cq.entries;
  record.noted.store(0, std::memory_order_relaxed);
  record.made.store(page().command.load(std::memory_order_relaxed), std::memory_order_release);
}

void KernelJournal::add_qp(std::uint32_t handle, const Qp& qp) {
  assert(handle < qps_);
  for (std::uint32_t end = qps_end(); end <= handle; ++end) {
    qp_at(end).made.store(0, std::memory_order_relaxed);
    page().qps_end.store(end + 1, std::memory_order_release);
  }
  QpRecord& record = *qp_record(handle);
  record.directory = qp.directory.value;
  record.send_cq = qp.send_cq;
  record.receive_cq = qp.receive_cq;
  record.send_requests = qp.send_requests;
  record.receive_requests = qp.receive_requests;
  record.send_sges = qp.send_sges;
  record.receive_sges = qp.receive_sges;
  record.is_datagram = qp.is_datagram ? 1 : 0;
  record.is_started.store(0, std::memory_order_relaxed);
  record.made.store(page().command.load(std::memory_order_relaxed), std::memory_order_release);
}

void KernelJournal::drop_cq(std::uint32_t handle) {
  if (CqRecord* record = cq_record(handle)) record->made.store(0, std::memory_order_release);
}

void KernelJournal::drop_qp(std::uint32_t handle) {
  set_rings(handle, {});
  if (QpRecord* record = qp_record(handle)) record->made.store(0, std::memory_order_release);
}

void KernelJournal::stop_qp(std::uint32_t handle) {
  if (QpRecord* record = qp_record(handle)) record->is_started.store(0, std::memory_order_release);
}

void KernelJournal::start_qp(std::uint32_t handle) {
  QpRecord* record = qp_record(handle);
  if (record == nullptr) return;
  record->send_undone.store(0, std::memory_order_relaxed);
  record->receive_undone.store(0, std::memory_order_relaxed);
  record->is_started.store(1, std::memory_order_release);
}

void KernelJournal::clear() {
  page().qps_end.store(0, std::memory_order_release);
  page().cqs_end.store(0, std::memory_order_release);
  page().has_ended.store(1, std::memory_order_release);
  rings_.clear();
}

// ---- Completions ----

void KernelJournal::make_room_for_rings(std::uint32_t qp) {
  if (qp >= rings_.size()) rings_.resize(qp + 1);
}

void KernelJournal::set_rings(std::uint32_t qp, Rings rings) {
  if (rings.send != nullptr) make_room_for_rings(qp);
  if (qp < rings_.size()) rings_[qp] = rings;
}

std::optional<std::uint32_t> KernelJournal::reached(std::uint32_t qp, Queue queue,
                                                    std::uint32_t behind) const {
  if (qp >= rings_.size()) return std::nullopt;
  const WorkRing* ring = queue == Queue::kSend ? rings_[qp].send : rings_[qp].receive;
  return ring == nullptr ? std::nullopt : std::optional(ring->index_before(behind));
}

void KernelJournal::note(std::uint32_t cq, std::uint32_t index, std::uint32_t qp, Queue queue,
                         std::uint32_t reached) {
  CqRecord* record = cq_record(cq);
  if (record == nullptr) return;
  const auto count = static_cast<std::uint32_t>(record->noted.load(std::memory_order_relaxed));
  if (count >= kMostNoted) return;  // of a journal that an enemy has made
  record->notes[count] = {.qp = qp,
                          .place = reached | (queue == Queue::kReceive ? kOfReceives : 0)};
  record->noted.store(pack(index, count + 1), std::memory_order_release);
}

void KernelJournal::settle(std::uint32_t cq) {
  CqRecord* record = cq_record(cq);
  if (record == nullptr) return;
  const auto count = static_cast<std::uint32_t>(record->noted.load(std::memory_order_relaxed));
  for (std::uint32_t i = 0; i < std::min(count, kMostNoted); ++i) apply(record->notes[i]);
  record->noted.store(0, std::memory_order_release);
}

void KernelJournal::apply(const Note& note) {
  QpRecord* record = qp_record(note.qp);
  if (record == nullptr) return;
  const bool is_receive = (note.place & kOfReceives) != 0;
  (is_receive ? record->receive_undone : record->send_undone)
      .store(note.place & ~kOfReceives, std::memory_order_release);
}

// ---- For a process that goes on ----

void KernelJournal::go_on(std::uint64_t unanswered) {
  const std::uint64_t request = page().request.exchange(kNoRequest, std::memory_order_relaxed);
  if ((unanswered == kNoRequest || unanswered != request) && has_ended_command()) return;
  const std::uint64_t command = page().command.load(std::memory_order_relaxed);
  for (std::uint32_t handle = 0; handle < qps_end(); ++handle) {
    if (qp_record(handle)->made.load(std::memory_order_relaxed) == command) drop_qp(handle);
  }
  for (std::uint32_t handle = 0; handle < cqs_end(); ++handle) {
    if (cq_record(handle)->made.load(std::memory_order_relaxed) == command) drop_cq(handle);
  }
}

std::uint32_t KernelJournal::error() const {
  return page().error.load(std::memory_order_relaxed);
}

bool KernelJournal::has_ended_command() const {
  return page().has_ended.load(std::memory_order_relaxed) != 0;
}

std::uint32_t KernelJournal::cqs_end() const {
  return std::min(page().cqs_end.load(std::memory_order_relaxed), cqs_);
}

std::uint32_t KernelJournal::qps_end() const {
  return std::min(page().qps_end.load(std::memory_order_relaxed), qps_);
}

std::optional<KernelJournal::Cq> KernelJournal::cq(std::uint32_t handle) const {
  const CqRecord* record = cq_record(handle);
  if (record == nullptr || record->made.load(std::memory_order_acquire) == 0) return std::nullopt;
  return Cq{.directory = {record->directory}, .entries = record->entries};
}

std::optional<KernelJournal::Qp> KernelJournal::qp(std::uint32_t handle) const {
  const QpRecord* record = qp_record(handle);
  if (record == nullptr || record->made.load(std::memory_order_acquire) == 0) return std::nullopt;
  return Qp{.directory = {record->directory},
            .send_cq = record->send_cq,
            .receive_cq = record->receive_cq,
            .send_requests = record->send_requests,
            .receive_requests = record->receive_requests,
            .send_sges = record->send_sges,
            .receive_sges = record->receive_sges,
            .is_datagram = record->is_datagram != 0};
}

std::optional<KernelJournal::Undone> KernelJournal::undone(std::uint32_t qp) const {
  const QpRecord* record = qp_record(qp);
  if (record == nullptr || record->is_started.load(std::memory_order_acquire) == 0) {
    return std::nullopt;
  }
  return Undone{.send = record->send_undone.load(std::memory_order_relaxed),
                .receive = record->receive_undone.load(std::memory_order_relaxed)};
}

void KernelJournal::settle_seen(std::uint32_t cq, std::uint32_t index) {
  CqRecord* record = cq_record(cq);
  if (record == nullptr || record->entries == 0) return;
  const std::uint64_t noted = record->noted.load(std::memory_order_acquire);
  const std::uint32_t count = std::min(static_cast<std::uint32_t>(noted), kMostNoted);
  const std::uint32_t seen =
      RingIndex(record->entries).used(index, static_cast<std::uint32_t>(noted >> 32));
  for (std::uint32_t i = 0; seen <= count && i < seen; ++i) apply(record->notes[i]);
  record->noted.store(0, std::memory_order_release);
}

}  // namespace paravane::device
