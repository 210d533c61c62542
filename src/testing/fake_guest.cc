#include "testing/fake_guest.h"

#include <algorithm>
#include <cstring>

namespace paravane::fake {
namespace {

template <typename T>
void forget(std::vector<std::unique_ptr<T>>& owned, const T& object) {
  std::erase_if(owned, [&object](const auto& held) { return held.get() == &object; });
}

}  // namespace

GidBytes gid_of_mac(const std::array<std::uint8_t, 6>& mac) {
  GidBytes gid{0xFE, 0x80};
  gid[8] = mac[0] ^ 2;
  gid[9] = mac[1];
  gid[10] = mac[2];
  gid[11] = 0xFF;
  gid[12] = 0xFE;
  gid[13] = mac[3];
  gid[14] = mac[4];
  gid[15] = mac[5];
  return gid;
}

GidBytes gid_of_ipv4(std::array<std::uint8_t, 4> address) {
  GidBytes gid{};
  gid[10] = gid[11] = 0xFF;
  std::ranges::copy(address, gid.begin() + 12);
  return gid;
}

FakeGuest::FakeGuest(GuestMachine& machine, GuestOptions options)
    : FakeDriver(machine, std::move(options)),
      kernel_(new FakeContext{.handle = 0, .uar = UarPage(machine, 0)}) {}

FakeGuest::~FakeGuest() = default;

// ---- Life ----

bool FakeGuest::boot(const std::array<std::uint8_t, 6>& mac, std::uint8_t host) {
  *kernel_ = FakeContext{.handle = 0, .uar = UarPage(machine(), 0)};
  if (!probe()) return false;
  qp_table_.assign(caps().max_qp, nullptr);
  cq_table_.assign(caps().max_cq, nullptr);
  return register_port() && bind_gid(0, gid_of_mac(mac)) &&
         bind_gid(1, gid_of_ipv4({10, 0, 0, host}));
}

bool FakeGuest::register_port() {
  QueryPort port{};
  port.port_num = 1;
  const auto attributes = run(port);
  if (attributes.refused()) return false;
  for (std::uint16_t i = 0; i < attributes.response.attrs.pkey_tbl_len; ++i) {
    QueryPkey pkey{};
    pkey.port_num = 1;
    pkey.index = static_cast<std::uint8_t>(i);
    if (run(pkey).refused()) return false;
  }
  return true;
}

void FakeGuest::unload() {
  while (!qps_.empty()) destroy(*qps_.back());
  while (!srqs_.empty()) destroy(*srqs_.back());
  while (!cqs_.empty()) destroy(*cqs_.back());
  while (!mrs_.empty()) destroy(*mrs_.back());
  for (const auto& [handle, pd] : dma_mrs_) {
    demand(run(DestroyMr{.header = {}, .handle = handle, .reserved = 0}).accepted(),
           "DESTROY_MR of a DMA region was refused");
  }
  dma_mrs_.clear();
  while (!pds_.empty()) destroy(*pds_.back());
  while (!contexts_.empty()) close(*contexts_.begin()->second);
  while (!gids_.empty()) unbind_gid(gids_.begin()->first);
  remove();
}

void FakeGuest::forget_everything() {
  for (auto& qp : qps_) ram().release_set(qp->pages());
  for (auto& srq : srqs_) ram().release_set(srq->pages());
  for (auto& cq : cqs_) ram().release_set(cq->pages());
  for (auto& mr : mrs_) ram().release_set(mr->pages());
  qps_.clear();
  srqs_.clear();
  cqs_.clear();
  mrs_.clear();
  dma_mrs_.clear();
  pds_.clear();
  pd_of_.clear();
  contexts_.clear();
  gids_.clear();
  release_shared();
}

// ---- Contexts and protection domains ----

std::uint32_t FakeGuest::next_uar_page() const {
  std::uint32_t page = 1;
  while (contexts_.contains(page)) ++page;
  return page;
}

CreateUc FakeGuest::context_request(std::uint32_t page) const {
  CreateUc request{};
  request.pfn = GuestMachine::kBar2Frame + page;
  return request;
}

FakeContext& FakeGuest::open_context() {
  const std::uint32_t page = next_uar_page();
  const auto outcome = run(context_request(page));
  demand(outcome.accepted(), "CREATE_UC was refused");
  demand(outcome.response.handle != 0, "a context has handle 0");
  auto context = std::make_unique<FakeContext>(
      FakeContext{.handle = outcome.response.handle, .uar = UarPage(machine(), page)});
  return *(contexts_[page] = std::move(context));
}

void FakeGuest::close(FakeContext& context) {
  DestroyUc request{};
  request.handle = context.handle;
  demand(run(request).accepted(), "DESTROY_UC was refused");
  contexts_.erase(context.uar.index());
}

void FakeGuest::kill_process(FakeContext& context) {
  const auto belongs = [&context](const FakePd* pd) { return pd->context == &context; };
  for (std::size_t i = qps_.size(); i-- > 0;) {
    if (belongs(qps_[i]->spec().pd)) destroy(*qps_[i]);
  }
  for (std::size_t i = srqs_.size(); i-- > 0;) {
    if (belongs(srqs_[i]->spec().pd)) destroy(*srqs_[i]);
  }
  for (std::size_t i = cqs_.size(); i-- > 0;) {
    if (&cqs_[i]->context() == &context) destroy(*cqs_[i]);
  }
  for (std::size_t i = mrs_.size(); i-- > 0;) {
    if (belongs(pd_of_.at(mrs_[i].get()))) destroy(*mrs_[i]);
  }
  for (std::size_t i = pds_.size(); i-- > 0;) {
    if (belongs(pds_[i].get())) destroy(*pds_[i]);
  }
  close(context);
}

FakePd& FakeGuest::create_pd(FakeContext& context) {
  CreatePd request{};
  request.handle = context.handle;
  const auto outcome = run(request);
  demand(outcome.accepted(), "CREATE_PD was refused");
  demand(outcome.response.handle < (1u << 24), "a protection domain's handle has over 24 bits");
  pds_.emplace_back(new FakePd{.handle = outcome.response.handle, .context = &context});
  return *pds_.back();
}

void FakeGuest::destroy(FakePd& pd) {
  DestroyPd request{};
  request.handle = pd.handle;
  demand(run(request).accepted(), "DESTROY_PD was refused");
  forget(pds_, pd);
}

// ---- Destroying what has memory: the guest frees it right after the command ----

void FakeGuest::destroy(FakeQp& qp) {
  DestroyQp request{};
  request.handle = qp.handle;
  demand(run(request).accepted(), "DESTROY_QP was refused");
  qp.spec().send_cq->drop_completions_of(qp.handle);
  qp.spec().receive_cq->drop_completions_of(qp.handle);
  qp_table_[qp.handle] = nullptr;
  ram().release_set(qp.pages());
  forget(qps_, qp);
}

void FakeGuest::destroy(FakeSrq& srq) {
  DestroySrq request{};
  request.handle = srq.handle;
  demand(run(request).accepted(), "DESTROY_SRQ was refused");
  ram().release_set(srq.pages());
  forget(srqs_, srq);
}

void FakeGuest::destroy(FakeCq& cq) {
  DestroyCq request{};
  request.handle = cq.handle;
  demand(run(request).accepted(), "DESTROY_CQ was refused");
  cq_table_[cq.handle] = nullptr;
  ram().release_set(cq.pages());
  forget(cqs_, cq);
}

void FakeGuest::destroy(FakeMr& mr) {
  DestroyMr request{};
  request.handle = mr.handle;
  demand(run(request).accepted(), "DESTROY_MR was refused");
  ram().release_set(mr.pages());
  pd_of_.erase(&mr);
  forget(mrs_, mr);
}

// ---- Shared receive queues ----

bool FakeGuest::set_limit(FakeSrq& srq, std::uint32_t limit) {
  ModifySrq request{};
  request.srq_handle = srq.handle;
  request.attr_mask = kMaskSrqLimit;
  request.srq_limit = limit;
  return run(request).accepted();
}

std::uint32_t FakeGuest::limit_of(FakeSrq& srq) {
  QuerySrq request{};
  request.handle = srq.handle;
  const auto outcome = run(request);
  demand(outcome.accepted(), "QUERY_SRQ was refused");
  return outcome.response.srq_limit;
}

// ---- GIDs ----

bool FakeGuest::bind_gid(std::uint32_t index, const GidBytes& gid) {
  CreateBind request{};
  request.mtu = 1024;
  request.vlan = 0xFFF;
  request.index = index;
  std::ranges::copy(gid, request.new_gid);
  request.gid_type = caps().gid_types;
  if (run(request).refused()) return false;
  gids_[index] = gid;
  return true;
}

bool FakeGuest::unbind_gid(std::uint32_t index) {
  DestroyBind request{};
  request.index = index;
  const auto bound = gids_.find(index);
  if (bound != gids_.end()) std::ranges::copy(bound->second, request.dest_gid);
  gids_.erase(index);
  return run(request).accepted();
}

// ---- What arrives ----

void FakeGuest::on_notification(std::uint32_t cq_handle) {
  notifications_.push_back(cq_handle);
  FakeCq* cq = cq_table_[cq_handle % cq_table_.size()];
  if (cq != nullptr) cq->on_event();  // the driver skips unknown ones
}

void FakeGuest::on_async_event(const AsyncEvent& event) {
  async_events_.push_back(event);
}

}  // namespace paravane::fake
