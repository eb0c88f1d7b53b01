import HoldfastAssistants
import HoldfastCore
import HoldfastHealth

/// The properties of the server of one assistant over standard input and output: any lines, with
/// the answers to their questions.
enum MCPLineProperty {
  static func check(_ bytes: [UInt8]) throws(Broken) {
    var server = MCPLineServer(MCPLineServer.Policy(), seed: 1)
    _ = server.handle(.ready, at: .zero)
    var asked: [RequestID] = []
    for line in bytes.split(separator: 0x0A).prefix(100) {
      try perform(server.handle(.line(Array(line)), at: .zero), &asked)
      guard asked.count > 2 else { continue }
      let answer = HealthObject(succeeded: true, bytes: Array(#"{"success":true}"#.utf8))
      try perform(server.handle(.outcome(asked.removeFirst(), .data(answer)), at: .zero), &asked)
    }
    try hold(server.brokenInvariants(.thorough) == [], "the server keeps its invariants")
    var effects = server.handle(.ended, at: .zero)
    for id in asked {
      effects += server.handle(.outcome(id, .noData(remedy: "import")), at: .zero)
    }
    try hold(effects.contains(.finish) || !asked.isEmpty, "the server ends with its input")
  }

  private static func perform(
    _ effects: [MCPLineServer.Effect], _ asked: inout [RequestID]
  ) throws(Broken) {
    for effect in effects {
      switch effect {
      case .write(let line):
        try hold(!line.isEmpty && !line.contains(0x0A), "an answer is one line")
      case .ask(let id, _): asked.append(id)
      case .cancel(let id): asked.removeAll { $0 == id }
      case .finish: throw Broken("the server ends only with its input")
      }
    }
  }
}
