// Hostile programs of the host at the umad door: any messages on control lines and MAD lines, in
// any order, read or not. The input is a list of acts (umad_door_script.h).
//
// What must hold besides the sanitizers: the door comes to rest after each act and keeps its
// bounds; a program that does everything right is answered whatever the others do; and when all
// have gone, nothing of them is left.

#include <sys/un.h>

#include <array>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "fuzz_bytes.h"
#include "promise.h"
#include "testing/management_datagrams.h"
#include "testing/subnet_rig.h"
#include "testing/umad_program.h"
#include "umad/umad_door.h"
#include "umad_door_script.h"

namespace paravane::fake {
namespace {

namespace attribute = wire::infiniband::attribute;
namespace management_class = wire::infiniband::management_class;
namespace method = wire::infiniband::method;
using umad::Ask;
using umad::Outcome;

constexpr int kMostActs = 300;

class Host {
 public:
  Host() {
    UniqueFd listener(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const sockaddr_un any{.sun_family = AF_UNIX, .sun_path = {}};  // the kernel names it
    require(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&any), sizeof(sa_family_t)) ==
            0);
    require(::listen(listener.get(), 16) == 0);
    size_ = sizeof name_;
    require(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&name_), &size_) == 0);
    require(door.open(std::move(listener)).has_value());
  }

  UniqueFd connect() {
    UniqueFd client(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    require(::connect(client.get(), reinterpret_cast<const sockaddr*>(&name_), size_) == 0);
    step();
    return client;
  }
  void step() {
    for (int i = 0; i < 2000; ++i) {
      const auto ran = loop->poll(Duration::zero());
      require(ran.has_value());
      timers.run_due(rig.clock.now);
      require(rig.settle());
      if (*ran == 0) return;
    }
    require(false);  // it does not come to rest
  }
  void remove(const char* adapter) {
    subnet::HostAdapter* found = rig.subnet.find(adapter);
    if (found == nullptr) return;
    door.forget(*found);
    rig.subnet.remove(adapter);
  }

  SubnetRig rig;
  std::unique_ptr<EventLoop> loop = *EventLoop::create();
  TimerQueue timers;
  umad::UmadDoor door{rig.subnet, *loop, timers, rig.clock};

 private:
  sockaddr_un name_{};
  socklen_t size_ = 0;
};

class UmadFuzz {
 public:
  explicit UmadFuzz(FuzzBytes& input) : input_(input) {
    honest_line_ = honest_.open("second", 0);
    require(bool{honest_line_});
    require(honest_.outcome(
                agent_question(Ask::kRegister, 0, 0, umad_wish(management_class::kSubnetByLid))) ==
            Outcome::kDone);
  }

  void run() {
    for (int acts = 0; acts < kMostActs && !input_.at_end(); ++acts) {
      act();
      host_.step();
      require(host_.door.connections() <= kDoorPrograms + 1);
    }
    check_honest();
    for (Hostile& one : programs_) one = {};
    host_.step();
    require(host_.door.connections() == 1);
    check_honest();
    // The rest of them is what a program has at most; and no port has a manager any more but ours.
    honest_.close();
    host_.step();
    const std::uint32_t capabilities = host_.rig.second.port(1)->capabilities();
    require((capabilities & wire::infiniband::capability::kIsManager) == 0);
  }

 private:
  struct Hostile {
    UniqueFd control;
    std::array<UniqueFd, kDoorLines> lines;
  };

  void check_honest() {
    require(honest_.facts<umad::AdapterFacts>(question_of(Ask::kAdapter, "second")).has_value());
    // Anything else may have been asked of the port; the answer to this one comes.
    const Smp get = directed(get_of(attribute::kNodeInfo), {});
    require(say(honest_line_, mad_message(0, 0xFFFF, mad_bytes(get), 1000)));
    host_.step();
    const auto heard = hear_part(honest_line_);
    require(heard && heard->part.status.get() == 0 && heard->bytes.size() == sizeof(Smp));
    require(!hear(honest_line_).has_value());
  }

  void act() {
    switch (UmadDoorAct{
        static_cast<std::uint8_t>(input_.below(std::to_underlying(UmadDoorAct::kCount)))}) {
      case UmadDoorAct::kConnect: {
        Hostile& one = pick_program();
        one = {};
        one.control = host_.connect();
        return;
      }
      case UmadDoorAct::kQuestion: return ask();
      case UmadDoorAct::kOdd: {
        const Hostile& one = pick_program();
        return tell(one.control, any_bytes(input_.u8()));
      }
      case UmadDoorAct::kMad: return send_mad();
      case UmadDoorAct::kPart: return send_part();
      case UmadDoorAct::kOddMad: {
        const UniqueFd& line = pick_line(pick_program());
        return tell(line, any_bytes(input_.u8()));
      }
      case UmadDoorAct::kRead: return read(pick_program());
      case UmadDoorAct::kClose: {
        Hostile& one = pick_program();
        const std::uint8_t what = input_.u8();
        (what == 255 ? one.control : one.lines[what % kDoorLines]).reset();
        return;
      }
      case UmadDoorAct::kTime:
        return host_.rig.advance(std::chrono::milliseconds(10 * input_.u8()));
      case UmadDoorAct::kAdapter:
        if (host_.rig.subnet.find("third") != nullptr)
          host_.remove("third");
        else
          (void)host_.rig.subnet.add("third", {.name = "Test", .ports = 2}, 0x7000);
        return;
      case UmadDoorAct::kCount: break;
    }
  }

  Hostile& pick_program() { return programs_[input_.below(kDoorPrograms)]; }
  UniqueFd& pick_line(Hostile& program) { return program.lines[input_.below(kDoorLines)]; }
  std::vector<std::byte> any_bytes(std::size_t length) {
    std::vector<std::byte> bytes(length);
    for (std::byte& byte : bytes) byte = std::byte{input_.u8()};
    return bytes;
  }
  static void tell(const UniqueFd& socket, std::span<const std::byte> bytes) {
    if (socket) (void)say(socket, bytes);
  }

  void ask() {
    static constexpr std::string_view kNames[] = {"first", "second", "third", "", "secon"};
    Hostile& one = pick_program();
    umad::Question question;
    const std::uint32_t what = input_.u8();
    question.ask.set(what);
    question.adapter = umad_name(kNames[input_.below(std::size(kNames))]);
    question.port.set(input_.u8());
    question.line.set(input_.u8());
    question.agent.set(input_.u8());
    question.wish.management_class = input_.u8();
    question.wish.class_version = input_.u8();
    const std::uint8_t segments = input_.u8();
    question.wish.rmpp_version = segments & 1;
    question.wish.user_rmpp = segments >> 1 & 1;
    const std::uint8_t wanted = input_.u8();
    if (wanted < 128) question.wish.methods[wanted / 32].set(std::uint32_t{1} << (wanted % 32));
    if (!one.control) return;
    // Its old answers first, so that this one's descriptor is found; some programs do not read.
    if ((segments & 4) == 0) read(one);
    tell(one.control, std::as_bytes(std::span(&question, 1)));
    host_.step();
    if ((segments & 4) != 0) return;
    auto heard = hear(one.control);
    if (heard && heard->descriptor)
      one.lines[question.line.get() % kDoorLines] = std::move(heard->descriptor);
  }

  void send_mad() {
    const UniqueFd& line = pick_line(pick_program());
    const std::uint32_t agent = input_.u8();
    const std::uint32_t time = input_.u8();
    Smp mad = get_of(0);
    mad.header.management_class = input_.u8();
    mad.header.method = input_.u8();
    mad.header.attribute.set(input_.u8());
    mad.header.transaction.set(hostile_number(input_));
    const std::uint16_t lid = input_.u8();
    const unsigned hops = input_.u8();
    if (mad.header.management_class == management_class::kSubnetByRoute) {
      RoutePath path(hops % 8);
      for (std::uint8_t& port : path) port = input_.u8();
      mad = directed(mad, path);
      mad.header.management_class = management_class::kSubnetByRoute;
      if ((hops & 0x80) != 0) mad.header.status.set(wire::infiniband::kReturning);
    }
    tell(line, mad_message(agent, lid == 255 ? 0xFFFF : lid, mad_bytes(mad), time));
  }

  void send_part() {
    const UniqueFd& line = pick_line(pick_program());
    umad::MadPart part;
    part.agent.set(input_.u8());
    part.total.set(hostile_number(input_));
    part.offset.set(hostile_number(input_));
    part.timeout_ms.set(hostile_number(input_));
    part.retries.set(hostile_number(input_));
    part.address.lid.set(input_.u16());
    part.address.qp.set(hostile_number(input_));
    part.address.has_global = input_.u8() & 1;
    std::vector<std::byte> bytes(hostile_number(input_) % (umad::kMostPart + 2));
    if (bytes.size() >= 56) {
      // A long MAD whose agent has it cut.
      wire::infiniband::MadHeader header;
      header.management_class = management_class::kSubnetAdministration;
      header.class_version = 2;
      header.method = input_.u8();
      std::memcpy(bytes.data(), &header, sizeof header);
      bytes[24] = std::byte{1};
      bytes[25] = std::byte{1};
      bytes[26] = std::byte{1};
    }
    tell(line, mad_message(part, bytes));
  }

  static void read(Hostile& program) {
    if (program.control) {
      while (const auto heard = hear(program.control)) {
        if (heard->bytes.empty()) break;
      }
    }
    for (const UniqueFd& line : program.lines) {
      if (!line) continue;
      while (const auto heard = hear(line)) {
        if (heard->bytes.empty()) break;
        require(heard->bytes.size() > sizeof(umad::MadPart) &&
                heard->bytes.size() <= sizeof(umad::MadPart) + umad::kMostPart);
      }
    }
  }

  FuzzBytes& input_;
  Host host_;
  UmadProgram honest_{host_.connect(), [this] { host_.step(); }};
  UniqueFd honest_line_;
  std::array<Hostile, kDoorPrograms> programs_;
};

}  // namespace
}  // namespace paravane::fake

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  paravane::fake::FuzzBytes input(data, size);
  paravane::fake::UmadFuzz(input).run();
  return 0;
}
