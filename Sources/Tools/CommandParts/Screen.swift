import Glibc
package import HoldfastCommandKit
import HoldfastCore
import HoldfastPorts

/// A terminal screen for a link: a bottom line, with lines that scroll above it.
///
/// The bottom line contains the state of the link and the text that is being typed.
package actor Screen<Update: ShownUpdate>: LinkView {
  private let style: Style
  private let clock = BootClock()
  private let reads: Bool
  private var state: LinkState?
  private var editor: LineEditor
  private var repeats = Repeats()
  private var bottom = ""
  private var hasEnded = false

  /// Creates a screen on this process's terminal.
  ///
  /// - Parameters:
  ///   - reads: Whether keys are read. The terminal then does not echo them.
  ///   - longest: The maximum length of a typed line, in bytes.
  package init(style: Style, reads: Bool, longest: Int) {
    self.style = style
    self.reads = reads
    editor = LineEditor(longest: longest)
    if reads { Terminal.readKeys() }
  }

  package func show(_ update: Update) {
    if let state = update.state { self.state = state }
    put(update.lines(style), isNotice: update.isNotice)
  }

  package func note(_ kind: String, _ detail: String?) {
    put([NoticeText.line(kind, detail)], isNotice: true)
  }

  package func end() {
    put(repeats.counted())
    hasEnded = true
    _ = Console.raw(Terminal.eraseLine)
    Terminal.restore()
  }

  /// Processes keys. Returns the requests that result from them, in order.
  package func type(_ keys: [UInt8]) -> [LineEditor.Request] {
    let requests = keys.compactMap { editor.type($0) }
    put([])
    return requests
  }

  /// Redraws the bottom line every second and whenever the terminal changes, until the task is
  /// cancelled.
  ///
  /// This is needed because other programs may write to the same terminal.
  package func run() async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.count() }
      group.addTask {
        for await _ in Terminal.changes() { await self.redraw() }
      }
    }
  }

  private func count() async {
    while !Task.isCancelled {
      try? await clock.wait(until: clock.now.advanced(by: .seconds(1)))
      bottom = ""
      put([])
    }
  }

  private func redraw() {
    if reads { Terminal.readKeys() }
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
    let text = Terminal.eraseLine + lines.map { $0 + "\n" }.joined() + next
    if !Console.raw(text) { _exit(ExitCode.done.rawValue) }
  }

  /// Returns the state and the end of the typed text, shortened to the width of the terminal.
  private func bottomLine() -> String {
    let width = Terminal.width - 1
    let text = state?.text(at: clock.now) ?? "opening"
    let head = Self.fit(text, width)
    guard reads, head.count + 4 < width else { return style.heading(head) }
    let draft = editor.draft.printable
    guard !draft.isEmpty else {
      return style.heading(head) + Self.fit(" > (Enter sends what you type)", width - head.count)
    }
    let tail = String(Self.fit(String(draft.reversed()), width - head.count - 3).reversed())
    return style.heading(head) + " > " + tail
  }

  /// Returns the longest prefix that fits into `columns`. Characters from U+1100 onward take two
  /// columns.
  private static func fit(_ text: String, _ columns: Int) -> String {
    var left = columns
    return String(
      text.prefix { character in
        left -= character.unicodeScalars.allSatisfy { $0.value < 0x1100 } ? 1 : 2
        return left >= 0
      })
  }
}
