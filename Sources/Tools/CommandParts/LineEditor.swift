/// An editor for the line that is being typed. It supports the editing keys of a terminal in its
/// normal mode.
package struct LineEditor {
  /// The maximum length of the line, in bytes. Further characters are ignored.
  let longest: Int
  /// The text typed so far.
  private(set) var draft = ""
  private var bytes: [UInt8] = []
  private var escape = Escape.none

  /// The progress within an escape sequence (ECMA-48 section 5.4). Escape sequences are ignored.
  private enum Escape { case none, begun, sequence }

  init(longest: Int) {
    self.longest = longest
  }

  /// A request that a key press causes.
  package enum Request: Equatable {
    case send(String)
    /// A line that is not valid UTF-8.
    case refuse
    case end
  }

  mutating func type(_ byte: UInt8) -> Request? {
    switch (escape, byte) {
    case (.begun, UInt8(ascii: "[")), (.begun, UInt8(ascii: "O")): escape = .sequence
    case (.sequence, 0x20..<0x40): break
    case (.begun, _), (.sequence, _): escape = .none
    case (.none, 0x1B): escape = .begun
    case (.none, 0x0A), (.none, 0x0D):
      defer { replace(with: "") }
      guard String(validating: bytes, as: UTF8.self) != nil else { return .refuse }
      return draft.contains { !$0.isWhitespace } ? .send(draft) : nil
    case (.none, 0x04): return bytes.isEmpty ? .end : nil
    case (.none, 0x08), (.none, 0x7F): replace(with: String(draft.dropLast()))
    case (.none, 0x15): replace(with: "")
    case (.none, 0x17): dropWord()
    case (.none, 0..<0x20): break
    case (.none, _):
      guard bytes.count < longest else { return nil }
      bytes.append(byte)
      draft = String(decoding: bytes, as: UTF8.self)
    }
    return nil
  }

  private mutating func dropWord() {
    let end = draft.lastIndex { !$0.isWhitespace } ?? draft.startIndex
    let start = draft[..<end].lastIndex { $0.isWhitespace }.map { draft.index(after: $0) }
    replace(with: String(draft[..<(start ?? draft.startIndex)]))
  }

  private mutating func replace(with text: String) {
    draft = text
    bytes = Array(text.utf8)
  }
}
