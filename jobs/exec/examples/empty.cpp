// Makes calls that compute nothing, for keep=true: its rate is the most that a program can reach.
#include <iostream>
#include <string>

int main() {
  std::ios::sync_with_stdio(false);
  std::cin.tie(nullptr);
  for (std::string call; std::getline(std::cin, call);) {  // a call without input is a line
    std::cout.write(call.data(), call.find(' ')) << " ok 0\n";
    if (std::cin.rdbuf()->in_avail() <= 0) std::cout << std::flush;  // before waiting for a call
  }
}
