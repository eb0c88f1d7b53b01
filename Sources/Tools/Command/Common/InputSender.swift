import CommandKit

/// The sending of lines that are typed on a terminal or read from a pipe.
struct InputSender: Sendable {
  /// The longest line, in bytes.
  let longest: Int
  /// Returns why a text cannot be sent; `nil` if it can.
  let fault: @Sendable (String) -> String?
  /// Waits until a line can be sent; returns false if cancelled.
  let hasRoom: @Sendable () async -> Bool
  let send: @Sendable (String) -> Void

  /// Sends lines until the input ends; returns how many were refused.
  func run<Update: ShownUpdate>(_ view: any LinkView<Update>, _ screen: Screen<Update>?) async
    -> Int
  {
    if let screen { await typed(on: screen) } else { await piped(view) }
  }

  private func piped<Update: ShownUpdate>(_ view: any LinkView<Update>) async -> Int {
    var refused = 0
    var lines = StandardInput(InputLines(longest: longest)).makeAsyncIterator()
    while await hasRoom(), let line = await lines.next() {
      guard line.bytes > 0 else { continue }
      let fault =
        line.bytes > longest
        ? "it has \(line.bytes) bytes; the limit is \(longest)" : fault(line.text)
      if let fault {
        refused += 1
        await view.note("too-long", "line \(line.number) was not sent: \(fault)")
      } else {
        // Reading a line may have taken long.
        guard await hasRoom() else { return refused }
        send(line.text)
      }
    }
    return refused
  }

  private func typed<Update: ShownUpdate>(on screen: Screen<Update>) async -> Int {
    var refused = 0
    for await keys in StandardInput(InputKeys()) {
      for text in await screen.type(Array(keys)) {
        guard let text else { return refused }
        if let fault = fault(text) {
          refused += 1
          await screen.note("too-long", "the text was not sent: \(fault)")
        } else {
          _ = await hasRoom()
          send(text)
        }
      }
    }
    return refused
  }
}
