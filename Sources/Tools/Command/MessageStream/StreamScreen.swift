import CommandKit
import LinkCore
import LinkRuntime
import MessageStream

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Shows a stream on a terminal: messages that scroll, and one line at the bottom that says how the
/// link is and holds what is being typed.
actor StreamScreen: StreamView {
  private let style: Style
  private let clock = BootClock()
  private let reads: Bool
  private var status: StreamStatus?
  private var editor = StreamEditor()
  private var repeats = Repeats()
  private var bottom = ""
  private var hasEnded = false

  /// From here to the left edge, and nothing behind it (ECMA-48 section 8.3.41, EL).
  private static let erase = "\r\u{1B}[K"

  /// - Parameter reads: whether keys are read; then the terminal no longer shows them itself.
  init(style: Style, reads: Bool) {
    self.style = style
    self.reads = reads
    if reads { StreamTerminal.readKeys() }
  }

  func show(_ update: StreamUpdate) {
    if case .status(let status) = update { self.status = status }
    put(StreamText.lines(for: update, style), isNotice: update.isNotice)
  }

  func note(_ kind: String, _ detail: String?) {
    put([StreamText.notice(kind, detail)], isNotice: true)
  }

  func end() {
    put(repeats.counted())
    hasEnded = true
    _ = Console.raw(Self.erase)
    StreamTerminal.restore()
  }

  /// Takes keys; answers with what is to be sent, and `nil` behind it when the user is done.
  func type(_ keys: [UInt8]) -> [String?] {
    let requests = keys.compactMap { editor.type($0) }
    put([])
    return requests.map {
      switch $0 {
      case .send(let text): text
      case .end: nil
      }
    }
  }

  /// Counts down once a second, and draws anew when the terminal has changed; until cancelled.
  func run() async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.count() }
      group.addTask {
        for await _ in StreamTerminal.changes() { await self.drawAnew() }
      }
    }
  }

  private func count() async {
    while !Task.isCancelled {
      try? await clock.wait(until: clock.now.advanced(by: .seconds(1)))
      if status?.retryAt != nil { put([]) }
    }
  }

  private func drawAnew() {
    if reads { StreamTerminal.readKeys() }
    bottom = ""
    put([])
  }

  /// Prints lines above the bottom line.
  private func put(_ lines: [String], isNotice: Bool = false) {
    guard !hasEnded else { return }
    let lines = repeats.lines(lines, isNotice: isNotice, at: clock.now)
    let next = bottomLine()
    guard !lines.isEmpty || next != bottom else { return }
    bottom = next
    let text = Self.erase + lines.map { $0 + "\n" }.joined() + next
    if !Console.raw(text) { _exit(ExitCode.done.rawValue) }
  }

  /// As much as fits: the status, then the end of what is typed.
  private func bottomLine() -> String {
    let width = StreamTerminal.width - 1
    let state = status.map { StreamText.status($0, at: clock.now) } ?? "opening"
    let head = Self.fit(state, width)
    guard reads, head.count + 4 < width else { return style.heading(head) }
    let draft = StreamText.safe(editor.draft)
    let tail = String(Self.fit(String(draft.reversed()), width - head.count - 3).reversed())
    return style.heading(head) + " > " + tail
  }

  /// The beginning that takes at most this many columns; letters beyond Latin may take two.
  private static func fit(_ text: String, _ columns: Int) -> String {
    var left = columns
    return String(
      text.prefix { character in
        left -= character.unicodeScalars.allSatisfy { $0.value < 0x1100 } ? 1 : 2
        return left >= 0
      })
  }
}
