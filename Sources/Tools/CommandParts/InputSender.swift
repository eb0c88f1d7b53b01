import HoldfastCommandKit

/// A sender of lines that are typed at a terminal or read from a pipe.
package struct InputSender: Sendable {
  /// The maximum length of a line, in bytes.
  package let longest: Int
  /// Returns the reason why a text cannot be sent; `nil` if it can be sent.
  package let fault: @Sendable (String) -> String?
  /// Waits until a line from a pipe can be sent. Returns `false` if the task is cancelled.
  package let hasRoom: @Sendable () async -> Bool
  /// Returns the reason why a typed line is sent later; `nil` if it is sent now.
  ///
  /// Typed lines do not wait for room. The link refuses lines that it cannot store.
  package let delay: @Sendable () async -> String?
  package let send: @Sendable (String) -> Void

  package init(
    longest: Int, fault: @escaping @Sendable (String) -> String?,
    hasRoom: @escaping @Sendable () async -> Bool, delay: @escaping @Sendable () async -> String?,
    send: @escaping @Sendable (String) -> Void
  ) {
    self.longest = longest
    self.fault = fault
    self.hasRoom = hasRoom
    self.delay = delay
    self.send = send
  }

  /// Sends lines until the input ends. Returns the number of lines that were refused.
  package func run<Update: ShownUpdate, Shown: ShownUpdate>(
    _ view: any LinkView<Update>, _ screen: Screen<Shown>?
  ) async -> Int {
    if let screen { await typed(on: screen) } else { await run(view) }
  }

  /// Sends lines from a pipe until the input ends. Returns the number of lines that were refused.
  package func run<Update: ShownUpdate>(_ view: any LinkView<Update>) async -> Int {
    var refused = 0
    var lines = StandardInput(InputLines(longest: longest)).makeAsyncIterator()
    while let line = await lines.next() {
      guard line.bytes > 0 else { continue }
      if let (kind, fault) = fault(in: line) {
        refused += 1
        await view.note(kind, "line \(line.number) was not sent: \(fault)")
      } else if let text = line.text {
        if Invocation.isTyped {
          if let reason = await delay() {
            await view.note("waiting", "line \(line.number) waits: \(reason)")
          }
        } else if await !hasRoom() {
          // The remaining lines stay in the pipe until there is room. After a cancellation, nothing
          // more is sent.
          return refused
        }
        send(text)
      }
    }
    return refused
  }

  private func fault(in line: InputLine) -> (kind: String, detail: String)? {
    if line.bytes > longest {
      return ("too-long", "it has \(line.bytes) bytes; the limit is \(longest)")
    }
    guard let text = line.text else { return ("not-utf-8", "it is not valid UTF-8") }
    return fault(text).map { ("too-long", $0) }
  }

  private func typed<Update: ShownUpdate>(on screen: Screen<Update>) async -> Int {
    var refused = 0
    for await keys in StandardInput(InputKeys()) {
      for request in await screen.type(Array(keys)) {
        switch request {
        case .end: return refused
        case .refuse:
          refused += 1
          await screen.note("not-utf-8", "the text was not sent: it is not valid UTF-8")
        case .send(let text):
          if let fault = fault(text) {
            refused += 1
            await screen.note("too-long", "the text was not sent: \(fault)")
          } else {
            send(text)
          }
        }
      }
    }
    return refused
  }
}
