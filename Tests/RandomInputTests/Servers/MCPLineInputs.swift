import HoldfastAssistants
import HoldfastCore
import HoldfastHealth

/// Random inputs for the server of one assistant over lines, and the promises of the server.
struct MCPLineInputs: InputGenerator {
  var run: RandomRun<MCPLineServer>
  /// The questions without an outcome.
  var asked: [RequestID] = []
  /// Whether the input has ended, and whether the server has.
  var (hasEnded, hasFinished) = (false, false)

  init(seed: UInt64) {
    var draw = PolicyDraw(generator: RandomSource(seed: seed))
    var policy = MCPLineServer.Policy()
    let counts: [(WritableKeyPath<MCPLineServer.Policy, Int>, [Int])] = [
      (\.maxCalls, [0, 1, 3]), (\.maxRunning, [0, 1, 2]), (\.maxResponse, [0, 300, 900]),
    ]
    draw.set(&policy, counts)
    draw.set(&policy, seconds: [(\.progressInterval, [0, 1]), (\.callLimit, [0, 3])])
    run = RandomRun(MCPLineServer(policy, seed: 0), seed: seed, generator: draw.generator)
  }

  mutating func begin() {
    if oneIn(2) { give(.importing("0 %")) }
    give(.line(Array(greeting().utf8)))
  }

  mutating func act() {
    passTime([.milliseconds(1), .seconds(1), .seconds(2)])
    switch number(0...19) {
    case 0...4: answer()
    case 5: give(.importing("40 %"))
    case 6, 7: give(.ready)
    case 8: give(.unreadable(oneIn(2) ? .notText : .tooLong(bytes: 9)))
    case 9: if oneIn(9) { give(.ended) }
    case 10: give(.line(Array(greeting().utf8)))
    case 11...13:
      let all = (0..<number(0...4)).map { _ in message() }
      give(.line(Array("[\(all.joined(separator: ","))]".utf8)))
    case _: give(.line(Array(message().utf8)))
    }
  }

  private mutating func answer() {
    guard !asked.isEmpty else { return give(.outcome(RequestID(77_777), .noData(remedy: ""))) }
    let id = oneIn(20) ? RequestID(55_555) : one(asked)
    give(
      .outcome(
        id,
        oneIn(4)
          ? oneIn(2) ? .importing("y") : .noData(remedy: "x")
          : .data(
            HealthObject(succeeded: true, bytes: Array(#"{"success":true,"n":[1,2]}"#.utf8)))))
  }

  private mutating func greeting() -> String {
    request("initialize", #"{"protocolVersion":"\#(one(["2025-03-26", "2025-11-25"]))"}"#)
  }

  private mutating func request(_ method: String, _ params: String) -> String {
    #"{"jsonrpc":"2.0","id":\#(number(1...5)),"method":"\#(method)","params":\#(params)}"#
  }

  private mutating func message() -> String {
    switch number(0...9) {
    case 0:
      let methods = ["ping", "tools/list", "x/y", "initialize", "resources/list", "resources/read"]
      return request(one(methods), oneIn(2) ? "{}" : #"{"uri":"ui://holdfast/charts"}"#)
    case 1, 2:
      let params = #"{"requestId":\#(number(1...5))}"#
      return #"{"jsonrpc":"2.0","method":"notifications/cancelled","params":\#(params)}"#
    case 3: return one(["", "{}", "{", #"{"jsonrpc":"2.0","id":1,"result":{}}"#])
    case _:
      let span = #""start_time":"2026-01-09","end_time":"2026-01-10""#
      let arguments = #"{"value_type":"\#(oneIn(9) ? "odd" : "steps")",\#(span)}"#
      let meta = oneIn(2) ? "" : #","_meta":{"progressToken":7}"#
      let name = oneIn(9) ? "logout" : "get_health_metrics"
      return request("tools/call", #"{"name":"\#(name)","arguments":\#(arguments)\#(meta)}"#)
    }
  }

  mutating func note(_ step: MachineStep<MCPLineServer>) {
    if case .outcome(let id, _)? = step.input { asked.removeAll { $0 == id } }
    if step.input == .ended { hasEnded = true }
    for effect in step.effects {
      switch effect {
      case .ask(let id, _): asked.append(id)
      case .cancel(let id): asked.removeAll { $0 == id }
      case .finish: hasFinished = true
      case .write: break
      }
    }
  }

  mutating func noteRestart() {}
  mutating func answerWhileWaiting() {}

  static func request(in effect: MCPLineServer.Effect) -> String? {
    switch effect {
    case .ask(let id, _): "the outcome of \(id)"
    case .finish: "the end"
    case .write, .cancel: nil
    }
  }

  static let properties: [MachineProperty<MCPLineInputs>] = [
    MachineProperty("a line has no line break") { _, step in
      step.effects.allSatisfy { effect in
        guard case .write(let line) = effect else { return true }
        return !line.contains(0x0A) && !line.contains(0x0D) && !line.isEmpty
      }
    },
    MachineProperty("only a running question is cancelled") { notes, step in
      step.effects.allSatisfy { effect in
        guard case .cancel(let id) = effect else { return true }
        return notes.asked.contains(id)
      }
    },
    MachineProperty("the server ends once, after its input and its questions") { notes, step in
      let ended = notes.hasEnded || step.input == .ended
      return !step.effects.contains(.finish) || ended && !notes.hasFinished
    },
  ]
}
