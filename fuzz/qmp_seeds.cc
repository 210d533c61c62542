// Seeds for qmp_fuzz: what a QEMU says.

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace {

std::vector<std::string> seeds() {
  const std::string all =
      "{\"QMP\":{\"version\":{\"qemu\":{\"micro\":0,\"minor\":1,\"major\":11}},\"capabilities\":["
      "\"oob\"]}}\r\n"
      "{\"return\":{}}\r\n"
      "{\"timestamp\":{\"seconds\":1,\"microseconds\":2},\"event\":\"POWERDOWN\"}\r\n"
      "{\"error\":{\"class\":\"GenericError\",\"desc\":\"Bus 'x' not found\\u001b[2J\"}}\r\n"
      "{\"return\":{\"status\":\"running\",\"running\":true}}\r\n";
  return {std::string(1, '\xff') + all, std::string(1, '\x00') + all, "\x10[]\n",
          "\x10{\"error\":7}\n", "\x10{\"a\":1,\"a\":2}\n"};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  int number = 0;
  for (const std::string& seed : seeds()) {
    std::ofstream file(std::filesystem::path(argv[1]) / ("seed" + std::to_string(number++)));
    file << seed;
    if (!file) return 1;
  }
  return 0;
}
