package import HoldfastCore
package import HoldfastHealth
import HoldfastRelayServer

/// The server for one assistant that started this program, over standard input and output.
///
/// Each line is one JSON-RPC message (MCP, "stdio"). The versions, methods, tools and results are
/// those of `MCPServer`, but the questions are answered from a store on this machine, so there is
/// no login and no session.
///
///     reading ──ended──▶ ending ──the last call is answered──▶ finished
package struct MCPLineServer: Journaled {
  /// The limits and intervals of a server. All were chosen for this package.
  package struct Policy: Sendable, Hashable, Codable {
    /// The number of pending calls at which the caller stops to read. The other lines stay in the
    /// pipe. One batch may exceed it.
    package var maxCalls = 256
    /// The maximum number of questions that are answered at the same time. The others wait.
    package var maxRunning = 4
    /// The maximum length of a line, in bytes. A longer line is answered with an error.
    package var maxLine = 1 << 20
    /// The maximum size of a response, in bytes.
    package var maxResponse = 1_000_000
    /// The interval of progress notifications on a slow call, for clients that request progress.
    package var progressInterval = Duration.seconds(5)
    /// The time for which a call waits for the first import. Progress notifications state it.
    package var callLimit = Duration.seconds(45)

    /// Creates a policy with the default values.
    package init() {}
  }

  /// An input of the server.
  package enum Input: Sendable, Hashable, Codable {
    /// A line arrived, without its line break.
    case line([UInt8])
    /// A line arrived that is not passed on.
    case unreadable(Fault)
    /// The question of a call has been answered.
    case outcome(RequestID, Outcome)
    /// The import that precedes all answers is under way. Questions wait for its end.
    case importing(String)
    /// The import has ended, or failed. Questions are answered from what is stored.
    case ready
    /// The input has ended. Pending calls are still answered.
    case ended
  }

  /// The reason why a line is not passed on.
  package enum Fault: Sendable, Hashable, Codable {
    /// The line is longer than the policy allows.
    case tooLong(bytes: Int)
    /// The line is not UTF-8.
    case notText
  }

  /// The outcome of a question.
  package enum Outcome: Sendable, Hashable, Codable {
    /// The answer. It may be an error that the question caused.
    case data(HealthObject)
    /// The store is empty. The remedy names the command that imports an export.
    case noData(remedy: String)
    /// Another program imports the first export. The text says so.
    case importing(String)
  }

  /// An effect of the server. Effects are carried out in order.
  package enum Effect: Sendable, Hashable, Codable {
    /// Write a line, to which the caller adds the line break.
    case write([UInt8])
    /// Answer the question of a call with an `outcome`.
    case ask(RequestID, HealthQuestion)
    /// Stop to answer the question of a call. Its outcome is ignored.
    case cancel(RequestID)
    /// End: the input has ended, and every call is answered.
    case finish
  }

  private enum Phase { case reading, ending, finished }

  private struct Waiting: Sendable {
    var id: RPCID
    var version: MCPVersion
    var question: HealthQuestion
    /// The metrics of a summary that are not asked for. Each of them fails separately.
    var rejected: [RejectedMetric]
    var progressToken: RPCID?
    var since: Instant
  }

  let policy: Policy
  private var phase = Phase.reading
  private var now = Instant.zero
  private var effects: [Effect] = []
  /// The version that the last handshake agreed on.
  private var version: MCPVersion?
  private var waiting: [RequestID: Waiting] = [:]
  /// The pending calls, by the ids that the client chose.
  private var calls: [RPCID: RequestID] = [:]
  /// The calls whose questions are being answered.
  private var running: Set<RequestID> = []
  /// The calls whose questions wait for their turn, oldest first.
  private var queue: [RequestID] = []
  private var batches = MCPBatches<Void>()
  /// The times at which progress notifications are due.
  private var beats = AlarmQueue<RequestID>()
  /// The times until which calls wait for an import.
  private var limits = AlarmQueue<RequestID>()
  /// The progress of the import for which questions wait, or `nil` if there is none.
  private var importing: String?
  private var lastRequest: UInt64 = 0

  package static let journalName = "mcp lines"

  /// Creates a server that has received nothing. The seed has no effect.
  package init(_ policy: Policy, seed: UInt64) {
    self.policy = policy
  }

  /// Whether another line should be read now.
  package var hasRoom: Bool { waiting.count < policy.maxCalls }

  /// Handles one input and returns the resulting effects, in order.
  package mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
    self.now = now
    switch input {
    case .line(let bytes): if phase == .reading { take(bytes) }
    case .unreadable(let fault): if phase == .reading { write(error(fault).response(to: nil)) }
    case .outcome(let id, let outcome): conclude(id, outcome)
    case .importing(let progress): importing = progress
    case .ready:
      importing = nil
      limits = AlarmQueue()
    case .ended: if phase == .reading { phase = .ending }
    }
    return takeEffects()
  }

  /// Sends the progress notifications that are due, and refuses calls that waited for too long.
  package mutating func tick(at now: Instant) -> [Effect] {
    self.now = now
    while let id = limits.take(dueAt: now) {
      guard let importing, let call = forget(id) else { continue }
      answer(id, call, .importing(importing))
    }
    while let id = beats.take(dueAt: now) {
      guard let call = waiting[id], let token = call.progressToken else { continue }
      write(
        MCPLine.progress(
          token, waited: call.since.duration(to: now).components.seconds,
          of: policy.callLimit.components.seconds, message: importing ?? "Reading health data"))
      beats.set(id, at: now.advanced(by: interval))
    }
    return takeEffects()
  }

  /// The next instant at which `tick` must be called.
  package var deadline: Instant? { [beats.first, limits.first].compactMap(\.self).min() }

  private var interval: Duration { max(policy.progressInterval, .milliseconds(1)) }

  private mutating func takeEffects() -> [Effect] {
    while importing == nil, running.count < max(policy.maxRunning, 1), !queue.isEmpty {
      let id = queue.removeFirst()
      guard let call = waiting[id] else { continue }
      running.insert(id)
      effects.append(.ask(id, call.question))
    }
    if phase == .ending, waiting.isEmpty {
      phase = .finished
      effects.append(.finish)
    }
    defer { effects = [] }
    return effects
  }

  private mutating func write(_ json: [UInt8]) { effects.append(.write(MCPLine.text(json))) }

  private func error(_ fault: Fault) -> RPCError {
    switch fault {
    case .tooLong(let bytes):
      RPCError(
        .invalidRequest,
        "Invalid request: a line of \(bytes) bytes; the longest may have \(policy.maxLine)")
    case .notText: RPCError(.parse, "Parse error: the line is not UTF-8")
    }
  }
}

// From lines to calls.
extension MCPLineServer {
  private mutating func take(_ line: [UInt8]) {
    // The white space of JSON.
    guard line.contains(where: { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }) else { return }
    guard !RPCMessage.isBatch(line) else { return takeBatch(line) }
    lastRequest += 1
    take(line, as: RequestID(lastRequest), isInBatch: false)
  }

  private mutating func takeBatch(_ line: [UInt8]) {
    guard version == .march2025 else { return write(RPCError.batch.response(to: nil)) }
    do throws(RPCMessage.Fault) {
      let bodies = try RPCMessage.batch(line, atMost: MCPBatches<Void>.most)
      lastRequest += 1
      let members = batches.begin(RequestID(lastRequest), count: bodies.count, ())
      for (member, body) in zip(members, bodies) { take(body, as: member, isInBatch: true) }
    } catch {
      write(error.error.response(to: error.id))
    }
  }

  private mutating func take(_ body: [UInt8], as request: RequestID, isInBatch: Bool) {
    let message: RPCMessage
    do throws(RPCMessage.Fault) {
      message = try RPCMessage.read(body)
    } catch {
      return reply(request, error.error.response(to: error.id))
    }
    switch message {
    case .request(let id, let method, let params):
      do throws(RPCError) {
        guard method != "initialize" else {
          guard !isInBatch else { throw .initializeInBatch }
          return reply(request, try initialize(id, MCPParams(params)))
        }
        try serve(request, id, method, MCPParams(params))
      } catch {
        reply(request, error.response(to: id))
      }
    case .notification("notifications/cancelled", let params):
      cancel(MCPParams(params).requestID)
      reply(request, nil)
    case .notification, .response: reply(request, nil)
    }
  }

  /// Writes the response to a message, if it has one, or keeps it until its batch is complete.
  private mutating func reply(_ request: RequestID, _ json: [UInt8]?) {
    guard batches.holds(request) else {
      if let json { write(json) }
      return
    }
    if let body = batches.take(json ?? [], of: request)?.body { write(body) }
  }

  private mutating func initialize(_ id: RPCID, _ params: MCPParams) throws(RPCError) -> [UInt8] {
    guard let offered = params.protocolVersion else { throw .noVersion }
    let agreed = MCPVersion.agreed(on: offered)
    version = agreed
    return MCPResult.initialized(agreed).response(to: id, in: agreed, from: .store)
  }

  private mutating func serve(
    _ request: RequestID, _ id: RPCID, _ method: String, _ params: MCPParams
  ) throws(RPCError) {
    let version = try version(of: params, method)
    switch try MCPRequest(method, params, in: version, from: .store) {
    case .result(let result):
      reply(request, result.response(to: id, in: version, from: .store))
    case .unknownTool(let name):
      let result = MCPCallResult.unknownTool(name, of: .store)
      reply(request, result.response(to: id, in: version, within: .max))
    case .call(let tool, let arguments):
      guard calls[id] == nil else { throw .idInUse }
      do throws(MCPArguments.Fault) {
        let (call, rejected) = try RelayCall.read(tool, arguments, of: nil)
        // The store's tools are questions.
        guard case .question(let question) = call else { return }
        calls[id] = request
        queue.append(request)
        waiting[request] = Waiting(
          id: id, version: version, question: question, rejected: rejected,
          progressToken: params.meta?.progressToken, since: now)
        if params.meta?.progressToken != nil { beats.set(request, at: now.advanced(by: interval)) }
        if importing != nil { limits.set(request, at: now.advanced(by: policy.callLimit)) }
      } catch {
        let result = MCPCallResult.refused("invalid_arguments", error.message)
        reply(request, result.response(to: id, in: version, within: .max))
      }
    }
  }

  /// Returns the version of a request, which its metadata or the handshake names.
  private func version(of params: MCPParams, _ method: String) throws(RPCError) -> MCPVersion {
    if params.meta?.protocolVersion != nil {
      return try MCPVersion.stateless(try params.statedVersion())
    }
    // A ping is allowed before the handshake (MCP 2025-11-25, Lifecycle).
    guard let version = version ?? (method == "ping" ? .newestWithSessions : nil) else {
      throw RPCError(.invalidRequest, "Initialize first, or name a version in _meta")
    }
    return version
  }
}

// From outcomes to responses.
extension MCPLineServer {
  private mutating func conclude(_ request: RequestID, _ outcome: Outcome) {
    guard running.contains(request), let call = forget(request) else { return }
    switch outcome {
    case .data(let object):
      answer(
        request, call,
        MCPCallResult(object, of: call.question.kind, rejected: call.rejected, from: .store))
    case .noData(let remedy):
      answer(
        request, call, .refused("no_data", "There are no health data here yet. \(remedy)"))
    case .importing(let progress): answer(request, call, .importing(progress))
    }
  }

  private mutating func answer(_ request: RequestID, _ call: Waiting, _ result: MCPCallResult) {
    let room = policy.maxResponse - (batches.batch(of: request)?.held ?? 0)
    reply(request, result.response(to: call.id, in: call.version, within: max(room, 0)))
  }

  /// Cancels a call. A cancelled request has no response (MCP 2025-11-25, Cancellation).
  private mutating func cancel(_ id: RPCID?) {
    guard let id, let request = calls[id] else { return }
    if running.contains(request) { effects.append(.cancel(request)) }
    _ = forget(request)
    reply(request, nil)
  }

  private mutating func forget(_ request: RequestID) -> Waiting? {
    guard let call = waiting.removeValue(forKey: request) else { return nil }
    calls[call.id] = nil
    running.remove(request)
    queue.removeAll { $0 == request }
    beats.clear(request)
    limits.clear(request)
    return call
  }
}

extension MCPCallResult {
  fileprivate static func importing(_ progress: String) -> MCPCallResult {
    .refused("importing", "\(progress). Ask again in a minute.")
  }
}

// The invariants between the tables of the server.
extension MCPLineServer {
  /// Records each invariant that does not hold.
  package func check(_ check: inout InvariantCheck) {
    check.require(
      running.count + queue.count == waiting.count,
      "mcp lines: a pending question is answered or has a turn")
    check.require(calls.count == waiting.count, "mcp lines: each pending call has an id")
    check.require(phase != .finished || waiting.isEmpty, "mcp lines: no call is pending at the end")
    check.require(effects.isEmpty, "mcp lines: all effects are returned")
    check.require(
      importing != nil || limits.first == nil, "mcp lines: only an import is waited for")
    beats.check(&check)
    limits.check(&check)
    batches.check(&check)
    guard check.isThorough else { return }
    check.require(
      waiting.allSatisfy { calls[$1.id] == $0 && (running.contains($0) || queue.contains($0)) },
      "mcp lines: a call is known by its id")
    check.require(
      beats.keys.allSatisfy { waiting[$0]?.progressToken != nil },
      "mcp lines: progress is that of a pending call")
  }
}
