import LinkCore
import LinkHealth
import LinkServerCore
import LinkWire

/// What the server of assistants must do, told a second time (contract 1.7, MCP of five dates).
///
/// It shares no rule with the server: what the server keeps in several tables stands in plain lists
/// here, which are searched from the beginning.
struct MCPHouse: Sendable {
  typealias Effect = MCPServer.Effect

  /// A session, or a conversation of the plain endpoints.
  struct Room: Sendable, Equatable {
    let name: String
    var version = MCPVersion.november2025
    var client: AssistantName?
    var bearer: TokenHash?
    /// Whether its client has shown a token itself.
    var holdsTokens = false
    var usedAt: Instant
    /// When it is looked whether it was used.
    var lookAt: Instant
  }

  /// A call that waits for the relay.
  struct Job: Sendable, Equatable {
    let request: RequestID
    let ask: AskID
    let tool: MCPTool
    let shape: Shape
    let since: Instant
    let rejected: [RejectedMetric]
    var isStreaming = false
    /// When its client hears something.
    var beatAt: Instant?
  }

  /// How a call is answered.
  enum Shape: Sendable, Equatable {
    case rpc(Envelope)
    case mcpResult
    case object(conversation: String?)

    /// How a JSON-RPC call is answered; `nil` for a plain one.
    var envelope: Envelope? {
      switch self {
      case .rpc(let envelope): envelope
      case .mcpResult, .object: nil
      }
    }
  }

  /// What is known of a JSON-RPC request when it is answered.
  struct Envelope: Sendable, Equatable {
    var id: RPCID
    var version: MCPVersion
    var room: String?
    var progress: RPCID?
    var takes: Media
  }

  /// What media types a client takes.
  struct Media: Sendable, Equatable {
    var json: Bool
    var events: Bool
  }

  /// A stream on which nothing is asked.
  struct Stream: Sendable, Equatable {
    let request: RequestID
    let room: String
    var beatAt: Instant
  }

  /// A batch that waits for some of its answers.
  struct Batch: Sendable, Equatable {
    let request: RequestID
    let takesJSON: Bool
    let members: [RequestID]
    var bodies: [RequestID: [UInt8]] = [:]
    /// The bytes of the answers that earlier inputs brought.
    var held = 0
    var isWatched = false
  }

  let numbers: Numbers
  var now: Instant
  var out: [Effect] = []
  var isLeaving = false
  var rooms: [Room] = []
  var talks: [Room] = []
  var jobs: [Job] = []
  var streams: [Stream] = []
  var batches: [Batch] = []
  /// The web pages that wait for an answer.
  var pages: [RequestID: String] = [:]
  var lastAsk: UInt64 = 0
  var lastMember = UInt64.max
  var counts: [String: UInt64] = [:]

  init(_ numbers: Numbers, at now: Instant) {
    (self.numbers, self.now) = (numbers, now)
  }

  // Time.

  private mutating func pass() {
    while let next = beats.filter({ $0.at <= now }).min(by: { ($0.at, $0.id) < ($1.at, $1.id) }) {
      beat(next.id)
    }
    rooms = stillKnown(rooms) { room in
      streams.contains { $0.room == room } || jobs.contains { $0.shape.envelope?.room == room }
    }
    talks = stillKnown(talks) { _ in false }
  }

  private var beats: [(at: Instant, id: RequestID)] {
    jobs.compactMap { job in job.beatAt.map { ($0, job.request) } }
      + streams.map { ($0.beatAt, $0.request) }
  }

  private mutating func beat(_ request: RequestID) {
    if let place = streams.firstIndex(where: { $0.request == request }) {
      out.append(.write(request, Array(": wait\r\n\r\n".utf8)))
      streams[place].beatAt = now.advanced(by: numbers.comment)
    }
    guard let place = jobs.firstIndex(where: { $0.request == request }),
      let envelope = jobs[place].shape.envelope
    else { return }
    if !jobs[place].isStreaming { out.append(.begin(request)) }
    jobs[place].isStreaming = true
    jobs[place].beatAt = now.advanced(by: numbers.pause(envelope))
    let waited = jobs[place].since.duration(to: now).nanoseconds / 1_000_000_000
    out.append(.write(request, sign(envelope.progress, waited)))
  }

  private func sign(_ token: RPCID?, _ waited: Int64) -> [UInt8] {
    guard let token else { return Array(": wait\r\n\r\n".utf8) }
    let total = numbers.call.nanoseconds / 1_000_000_000
    return MCPWords.event(MCPWords.progress(token, waited, of: total).json)
  }

  /// Those that were used lately, or are in use; each is looked at when its time may be over.
  private func stillKnown(_ all: [Room], _ isBusy: (String) -> Bool) -> [Room] {
    all.compactMap { room in
      guard room.lookAt <= now else { return room }
      let end = (isBusy(room.name) ? now : room.usedAt).advanced(by: numbers.idle)
      guard end > now else { return nil }
      var room = room
      room.lookAt = end
      return room
    }
  }

  // Batches and web pages.

  /// The answers to messages of batches become those to whole batches.
  private mutating func gather() -> [Effect] {
    var found: [Effect] = []
    for effect in out {
      guard let id = Self.told(effect),
        let place = batches.firstIndex(where: { $0.members.contains(id) })
      else {
        found.append(effect)
        continue
      }
      if case .answer(_, let reply) = effect {
        batches[place].bodies[id] = reply.body
        guard batches[place].bodies.count == batches[place].members.count else { continue }
        found += whole(batches.remove(at: place))
      } else if !batches[place].isWatched {
        batches[place].isWatched = true
        found.append(.watch(batches[place].request))
      }
    }
    for place in batches.indices {
      batches[place].held = batches[place].bodies.values.reduce(0) { $0 + $1.count }
    }
    return found
  }

  /// The request that is answered or watched.
  private static func told(_ effect: Effect) -> RequestID? {
    switch effect {
    case .answer(let id, _), .watch(let id): id
    case .begin, .write, .end, .ask, .abandon: nil
    }
  }

  private func whole(_ batch: Batch) -> [Effect] {
    let texts = batch.members.compactMap { batch.bodies[$0] }
      .filter { !$0.isEmpty }.map { String(decoding: $0, as: UTF8.self) }
    let text = "[" + texts.joined(separator: ",") + "]"
    let request = batch.request
    if texts.isEmpty { return [.answer(request, MCPReply(202))] }
    if batch.takesJSON { return [.answer(request, MCPReply(200, Array(text.utf8)))] }
    return [.begin(request), .write(request, MCPWords.event(text)), .end(request)]
  }

  /// Tells browsers which page may read what begins now.
  private mutating func address(_ effects: [Effect]) -> [Effect] {
    var found: [Effect] = []
    for effect in effects {
      switch effect {
      case .answer(let id, var reply):
        count("mcp_answers_total{status=\"\(reply.status)\"}")
        reply.origin = pages.removeValue(forKey: id)
        found.append(.answer(id, reply))
      case .begin(let id, let session, _):
        count("mcp_answers_total{status=\"200\"}")
        found.append(.begin(id, session: session, origin: pages[id]))
      case .end(let id):
        pages[id] = nil
        found.append(effect)
      case .watch, .write, .ask, .abandon: found.append(effect)
      }
    }
    return found
  }
}

extension MCPHouse: Twin {
  static var name: String { "the assistants' server" }

  var deadline: Instant? {
    (beats.map(\.at) + (rooms + talks).map(\.lookAt)).min()
  }

  mutating func step(_ input: MCPServer.Input?, at now: Instant) -> [MCPServer.Effect] {
    (self.now, out) = (now, [])
    switch input {
    case nil: pass()
    case .request(let id, let call, let fresh): arrive(id, call, fresh)
    case .abandoned(let id): leave(id)
    case .outcome(let ask, let outcome, let token, let wall):
      conclude(ask, outcome, token, wall)
    case .drain:
      isLeaving = true
      for id in streams.map(\.request).sorted() { close(id) }
    }
    return address(gather())
  }

  func difference(from original: MCPServer, after input: MCPServer.Input?) -> String? {
    let health: ServiceHealth = isLeaving ? .draining : .ok
    if original.isFinished == isLeaving, original.serviceHealth == health { return nil }
    return "is \(original.serviceHealth), not \(health)"
  }
}
