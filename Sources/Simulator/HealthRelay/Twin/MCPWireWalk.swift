import LinkCore
import LinkHealth
import LinkJSON
import LinkWire

/// What assistants can post to a server and what it answers, in forms that no assistant writes too.
struct MCPWireWalk: RelayWireForms {
  var chance: Chance
  var stray: String?

  init(_ chance: Chance) { self.chance = chance }

  /// Tries so many messages, calls and results; returns the first difference.
  mutating func walk(_ times: Int) -> String? {
    for _ in 0..<times where stray == nil {
      tryMessage()
      tryBatch()
      tryPlain()
      tryQuery()
      tryCopy()
      tryResult()
      tryEvents()
      tryVersion()
    }
    return stray
  }

  // Messages.

  private mutating func tryMessage() {
    for bytes in forms(message(), 12) {
      let found = Result { () throws(RPCMessage.Fault) in try RPCMessage.read(bytes) }
      var reading = MCPWireReading()
      let what = "\(Self.text(bytes)), read as a message,"
      do throws(RPCError) {
        let must = try reading.message(bytes)
        guard case .success(let message) = found else {
          return compare(what, "\(found)", "\(must)")
        }
        compareMessage(what, message, must)
      } catch {
        guard case .failure(let fault) = found else {
          return compare(what, "\(found)", "\(error)")
        }
        compare(what, fault.error, error)
        compare(what, fault.id, reading.id)
      }
    }
  }

  mutating func compareMessage(
    _ what: String, _ found: RPCMessage, _ must: MCPWireReading.Message
  ) {
    switch (found, must) {
    case (.response, .response): return
    case (.request(let id, let method, let params), .request(let mustID, let name, let members)):
      compare(what, id, mustID)
      compare(what, method, name)
      compare(what, params, members)
    case (.notification(let method, let params), .notification(let name, let members)):
      compare(what, method, name)
      compare(what, params, members)
    case (.response, _), (.request, _), (.notification, _):  // open set: what differs
      compare(what, "\(found)", "\(must)")
    }
  }

  private mutating func compare(_ what: String, _ params: RPCParams, _ members: [SessionBranch]) {
    let found = MCPParams(params)
    compare(
      "the version of \(what)", found.protocolVersion,
      MCPWireReading.text("protocolVersion", in: members))
    compare("the tool of \(what)", found.name, MCPWireReading.text("name", in: members))
    compare("the request of \(what)", found.requestID, MCPWireReading.id("requestId", in: members))
    compare("the client of \(what)", found.client, MCPWireReading.client("clientInfo", in: members))
    compareArguments("the arguments of \(what)", found.arguments, MCPWireReading.arguments(members))
    let metas = members.compactMap { member -> [SessionBranch]? in
      guard member.name == "_meta", case .object(let all) = member.value else { return nil }
      return all
    }
    compare("whether there is more in \(what)", found.meta != nil, !metas.isEmpty)
    guard let meta = found.meta, let must = metas.last else { return }
    let prefix = "io.modelcontextprotocol/"
    compare(
      "the version of \(what)", meta.protocolVersion,
      MCPWireReading.text(prefix + "protocolVersion", in: must))
    let token = MCPWireReading.id("progressToken", in: must)
    compare("the token of \(what)", meta.progressToken, token)
    compare(
      "the client of \(what)", meta.client,
      MCPWireReading.client(prefix + "clientInfo", in: must))
    let able = must.last { $0.name == prefix + "clientCapabilities" }?.value
    var isAble = false
    if case .object? = able { isAble = true }
    compare("what the client can in \(what)", meta.hasCapabilities, isAble)
  }

  private mutating func tryBatch() {
    let all = (0..<number(0...3)).map { _ in message() }
    for bytes in forms(.list(all), 3) {
      let first = bytes.first { ![9, 10, 13, 32].contains($0) }
      compare("whether \(Self.text(bytes)) is a batch", RPCMessage.isBatch(bytes), first == 0x5B)
      let most = number(1...3)
      let found = Result { () throws(RPCMessage.Fault) in
        try RPCMessage.batch(bytes, atMost: most)
      }
      compareBatch(found.mapError(\.error), of: bytes, most)
      if case .failure(let fault) = found { compare("a batch's id", fault.id, nil) }
    }
  }

  mutating func compareBatch(
    _ found: Result<[[UInt8]], RPCError>, of bytes: [UInt8], _ most: Int
  ) {
    let must = Result { () throws(RPCError) in
      try MCPWireReading.batch(bytes, atMost: most)
    }
    compare("\(Self.text(bytes)), read as a batch,", found, must)
  }

  // Arguments.

  private mutating func tryPlain() {
    for bytes in forms(call(), 10) {
      let what = "\(Self.text(bytes)), read as a call,"
      let found = Result { () throws(MCPArguments.Fault) in try PlainToolCall.read(bytes) }
      do throws(MCPWireFault) {
        let must = try MCPWireReading.plain(bytes)
        guard case .success(let call) = found else {
          return compare(what, "\(found)", "\(must?.name ?? "initialize")")
        }
        switch call {
        case .initialize: compare(what, "initialize", must?.name ?? "initialize")
        case .tool(let name, let arguments):
          compare(what, name, must?.name ?? "initialize")
          compareArguments(what, arguments, must?.arguments)
        }
      } catch {
        guard case .failure(let fault) = found else {
          return compare(what, "\(found)", error.message)
        }
        compare(what, fault.message, error.message)
      }
    }
  }

  private mutating func tryQuery() {
    var pairs: [(String, String)] = []
    for member in arguments() where !happens(4) {
      switch member.value {
      case .text(let text): pairs.append((member.name, text))
      case .number(let digits): pairs.append((member.name, digits))
      case .object, .list, .flag, .null: pairs.append((member.name, ""))
      }
    }
    for _ in 0..<number(0...2) {
      let name = one(Self.names)
      if case .text(let text)? = values(of: name).first {
        pairs.insert((name, text), at: number(0...pairs.count))
      }
    }
    let found = MCPArguments(pairs.map { (name: $0.0, value: $0.1) })
    compareArguments("the query \(pairs)", found, MCPWireArguments(pairs: pairs))
  }

  mutating func compareArguments(
    _ what: String, _ found: MCPArguments?, _ must: MCPWireArguments?
  ) {
    guard let found, let must else { return compare(what, found != nil, must != nil) }
    compare(what, found.accessToken, must.accessToken)
    compare(what, found.description, must.description)
    compare(
      "\(what) as a pair",
      Self.plain { () throws(MCPArguments.Fault) in [try found.pair()].flatMap { [$0.0, $0.1] } },
      Result { () throws(MCPWireFault) in try must.pair() })
    compare(
      "\(what) as nothing",
      Self.plain { () throws(MCPArguments.Fault) in
        try found.nothing()
        return true
      },
      Result { () throws(MCPWireFault) in
        try must.nothing()
        return true
      })
    compare(
      "\(what) as a question",
      Self.plain { () throws(MCPArguments.Fault) in try found.healthDataQuery() },
      Result { () throws(MCPWireFault) in try must.healthDataQuery() })
    compare(
      "\(what) as a summary",
      Self.plain { () throws(MCPArguments.Fault) in try found.summaryQuery() },
      Result { () throws(MCPWireFault) in try must.summaryQuery() })
  }

  private static func plain<Value>(
    _ read: () throws(MCPArguments.Fault) -> Value
  ) -> Result<Value, MCPWireFault> {
    do throws(MCPArguments.Fault) {
      return .success(try read())
    } catch {
      return .failure(MCPWireFault(error.message))
    }
  }
}
