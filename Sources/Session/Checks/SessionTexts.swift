import HoldfastLinkChecks

extension String {
  /// The first two words. For an answer, they are "re" and the name of the prompt.
  package var firstWords: String { words.prefix(2).joined(separator: " ") }

  /// The name of the prompt that the text represents or answers.
  package var promptName: String {
    let words = words
    return words.first == "re" && words.count > 1 ? String(words[1]) : firstWord
  }

  /// The words in the first 100 bytes. Reading more would be slow, because a text may have 600 KiB.
  private var words: [Substring] {
    let end = utf8.index(utf8.startIndex, offsetBy: 100, limitedBy: utf8.endIndex) ?? utf8.endIndex
    return self[..<end].split(separator: " ")
  }

  /// The text before the first space, which is the name of a prompt.
  package var firstWord: String { String(decoding: utf8.prefix { $0 != 0x20 }, as: UTF8.self) }
}
