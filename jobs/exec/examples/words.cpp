// Counts words, for merge=sum and keep=true.
#include <iostream>
#include <map>
#include <sstream>
#include <string>

int main() {
  std::ios::sync_with_stdio(false);
  std::cin.tie(nullptr);
  std::string phase;
  unsigned long long number, partition, partitions, length;
  while (std::cin >> number >> phase >> partition >> partitions >> length) {
    std::cin.get();  // the end of the line
    std::string data(length, '\0');
    std::cin.read(data.data(), length);
    std::map<std::string, unsigned long long> count;
    std::istringstream words(data);
    for (std::string word; words >> word;) count[word]++;
    std::ostringstream answer;
    for (const auto& [word, n] : count) answer << word << '\t' << n << '\n';
    std::cout << number << " ok " << answer.str().size() << '\n' << answer.str();
    if (std::cin.rdbuf()->in_avail() <= 0) std::cout << std::flush;  // before waiting for a call
  }
}
