#include "umad_library/device_list.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace paravane::umad_library {
namespace {

// The name lies behind its node, so that one free() is for both.
umad_device_node* make_node(const std::string& name) {
  auto* node =
      static_cast<umad_device_node*>(std::calloc(1, sizeof(umad_device_node) + name.size() + 1));
  if (node == nullptr) return nullptr;
  auto* text = reinterpret_cast<char*>(node + 1);
  std::memcpy(text, name.c_str(), name.size() + 1);
  node->ca_name = text;
  return node;
}

}  // namespace

umad_device_node* make_device_list(const std::vector<std::string>& names) {
  umad_device_node* head = nullptr;
  umad_device_node** end = &head;
  for (const std::string& name : names) {
    *end = make_node(name);
    if (*end == nullptr) {
      free_device_list(head);
      errno = ENOMEM;
      return nullptr;
    }
    end = &(*end)->next;
  }
  errno = 0;
  return head;
}

void free_device_list(umad_device_node* head) {
  while (head != nullptr) {
    umad_device_node* next = head->next;
    std::free(head);
    head = next;
  }
}

int sort_device_list(umad_device_node** head, std::size_t size) {
  std::vector<umad_device_node*> nodes;
  for (umad_device_node* node = *head; node != nullptr; node = node->next) {
    if (size == 1 || (size != 0 && nodes.size() == size)) break;
    nodes.push_back(node);
  }
  if (size == 1) return 0;
  if (size != 0 && (nodes.size() != size || nodes.back()->next != nullptr)) return EINVAL;
  if (nodes.empty()) return 0;
  std::ranges::sort(nodes, [](const umad_device_node* a, const umad_device_node* b) {
    return std::strcmp(a->ca_name, b->ca_name) < 0;
  });
  for (std::size_t i = 0; i + 1 < nodes.size(); ++i) nodes[i]->next = nodes[i + 1];
  nodes.back()->next = nullptr;
  *head = nodes.front();
  return 0;
}

}  // namespace paravane::umad_library
