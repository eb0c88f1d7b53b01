import LinkCore
import LinkServerCore
import LinkWire
import Session

// The program behind the server: what it does for a prompt, and how that ends.
extension SessionWorld {
  mutating func run(_ id: SessionPromptID, _ prompt: SessionPrompt) {
    kernel.counts[.handled] += 1
    note(.ran(text: prompt.text.firstWord))
    backend.handlers.insert(id)
    let longest = isCalm ? .milliseconds(200) : kernel.plan.numbers.work
    let time = kernel.hosts[server.place].chance.duration(below: longest)
    var text = "re \(prompt.text.firstWord)"
    if prompt.text.utf8.count > 1_024 { text += " " + String(of: "y", count: 5_000) }
    let chance = kernel.hosts[server.place].chance.next()
    if chance % 2 == 0 { kernel.later(.produces(id, "re "), on: server, after: time / 2) }
    // What it has written is the beginning of what it says.
    if let habit = ProgramHabit(prompt.text), !isCalm { return follow(habit, id) }
    let result: SessionResponse.Result =
      chance % 16 == 1 ? .failure(error: "the program failed") : .success(text: text)
    kernel.later(.ends(id, result), on: server, after: time)
  }

  private mutating func follow(_ habit: ProgramHabit, _ id: SessionPromptID) {
    let length = backend.policy.maxResponseBytes
    switch habit {
    case .hangs, .deaf: backend.hanging.insert(id)
    case .floods:
      backend.hanging.insert(id)
      for seconds in Int64(1)...3 {
        let text = String(of: "z", count: length / 2)
        kernel.later(.produces(id, text), on: server, after: .seconds(seconds))
      }
    case .fills, .overflows:
      let count = habit == .fills ? length : length + 1
      let text = "re " + String(of: "z", count: count - 3)
      let result = SessionResponse.Result.success(text: text)
      kernel.later(.ends(id, result), on: server, after: .seconds(1))
    }
    if habit == .deaf { backend.deaf.insert(id) }
  }

  /// The program is told to end, and may not listen.
  mutating func cancel(_ id: SessionPromptID) {
    guard !backend.deaf.contains(id) else { return }
    kernel.later(.ends(id, .failure(error: "killed")), on: server, after: .milliseconds(10))
  }

  /// The program ends; the first of its end and of a cancellation counts.
  mutating func ends(_ id: SessionPromptID, _ result: SessionResponse.Result) {
    guard backend.handlers.remove(id) != nil else { return }
    backend.hanging.remove(id)
    kernel.counts[.answers] += 1
    feed(.ended(id, result, wall: wall(server)))
  }

  /// Programs that would not end in time end now.
  mutating func endHanging() {
    for id in backend.hanging.sorted() { ends(id, .success(text: "re \(id.number) at last")) }
  }
}

/// What a prompt of a guest makes the program do.
private enum ProgramHabit: String {
  /// It does not end by itself; nor when it is told to.
  case hangs, deaf
  /// It writes more than a response may have.
  case floods
  /// Its response has as many bytes as it may have, or one more.
  case fills, overflows

  init?(_ text: String) {
    let words = text.utf8.prefix(40).split(separator: 0x20)
    guard words.count == 2 else { return nil }
    self.init(rawValue: String(decoding: words[1], as: UTF8.self))
  }
}
