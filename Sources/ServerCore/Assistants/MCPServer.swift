public import LinkCore
import LinkHealth
public import LinkWire

/// The assistants' side of the relay: MCP sessions, versions and calls, and the plain endpoints.
///
/// It knows neither phones nor tokens' meaning: each call of a tool becomes an ask of the relay,
/// and each outcome an answer to the one request that wanted it.
public struct MCPServer: ServerRules {
  let policy: MCPPolicy

  /// The moment of the input that is being handled.
  var now: Instant
  /// What it asks for so far; empty between inputs.
  var effects: [Effect] = []

  var isDraining = false
  /// By `Mcp-Session-Id`.
  var sessions: SessionTable
  /// By `openai-conversation-id`.
  var conversations: SessionTable
  /// Requests that wait for the relay.
  var waiting: [RequestID: Waiting] = [:]
  /// Which of them an outcome is for.
  var askers: [AskID: RequestID] = [:]
  /// The sessions of the open GET streams.
  var streams: [RequestID: String] = [:]
  /// The origins of web pages whose requests have no answer yet.
  var origins: [RequestID: String] = [:]
  /// Batches whose messages are not all answered.
  var batches = Batches()
  var lastAsk: UInt64 = 0
  var metrics = MCPMetrics()
  /// When to say something on which stream.
  var beats = AlarmQueue<RequestID>()

  /// Everything that can happen.
  public enum Input: Sendable, Hashable, Codable {
    /// A request came; `fresh` names its session if it begins one.
    case request(RequestID, MCPCall, fresh: MCPSessionID)
    /// Its client left before it was answered to the end.
    case abandoned(RequestID)
    /// What became of an ask; `token` is the hash of what a login was granted, `wall` the wall
    /// clock when it came.
    case outcome(AskID, RelayOutcome, token: TokenHash?, wall: Timestamp)
    /// The server goes away: streams that would never end do now.
    case drain
  }

  /// Everything that it can ask for; carried out in order.
  public enum Effect: Sendable, Hashable, Codable {
    /// Answer a request.
    case answer(RequestID, MCPReply)
    /// Tell at once when this request's client leaves.
    case watch(RequestID)
    /// Begin to answer with an event stream, which may begin a session too; a web page of the
    /// origin may read it.
    case begin(RequestID, session: MCPSessionID? = nil, origin: String? = nil)
    /// Add to it.
    case write(RequestID, [UInt8])
    /// End it.
    case end(RequestID)
    /// Hand a call to the relay, which answers with an `outcome`, now or later.
    case ask(AskID, RelayAsk, bearer: Bearer?, from: String)
    /// No request waits for this outcome any more.
    case abandon(AskID)
  }

  /// A token as it is at hand.
  public enum Bearer: Sendable, Hashable, Codable, CustomStringConvertible {
    /// Kept, or hashed where the request was read.
    case hash(TokenHash)
    /// As the assistant gave it among the arguments; a secret.
    case text(String)

    /// Without the secret.
    public var description: String { "a token" }
  }

  /// A request that waits for the relay.
  struct Waiting: Sendable {
    var ask: AskID
    var tool: MCPTool
    var form: Form
    var since: Instant
    /// The lines of a summary that are not asked; each fails by itself.
    var rejected: [RejectedMetric] = []
    /// Whether an event stream was begun.
    var isStreaming = false
  }

  /// How an outcome is told.
  enum Form: Sendable {
    /// As a JSON-RPC response.
    case rpc(RPCForm)
    /// As an MCP result on its own: `/mcp/call`.
    case call
    /// As the result's object alone, kept for a conversation if there is one: `/api`, `/logout`.
    case object(conversation: String?)
  }

  struct RPCForm: Sendable {
    var id: RPCID
    var version: MCPVersion
    var session: String?
    var progressToken: RPCID?
    var accepts: MediaTypes
  }

  /// A server without sessions.
  public init(policy: MCPPolicy = MCPPolicy(), at now: Instant) {
    let policy = policy.workable
    self.policy = policy
    self.now = now
    sessions = SessionTable(bound: policy.maxSessions, idle: policy.idle)
    conversations = SessionTable(bound: policy.maxSessions, idle: policy.idle)
  }

  /// Takes one input; answers what to do, in order.
  public mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
    self.now = now
    switch input {
    case .request(let id, let call, let fresh): take(id, call, fresh: fresh)
    case .abandoned(let id): left(id)
    case .outcome(let ask, let outcome, let token, let wall):
      conclude(ask, outcome, token: token, wall: wall)
    case .drain: drain()
    }
    return takeEffects()
  }

  /// Lets streams say that they live, and sessions end.
  public mutating func tick(at now: Instant) -> [Effect] {
    self.now = now
    while let id = beats.take(dueAt: now) { beat(id) }
    sessions.expire(at: now)
    conversations.expire(at: now)
    return takeEffects()
  }

  /// The next instant at which something may be due.
  public var deadline: Instant? {
    [beats.first, sessions.deadline, conversations.deadline].compactMap(\.self).min()
  }

  private mutating func takeEffects() -> [Effect] {
    var found = batches.gather(effects)
    effects = []
    nameOrigins(in: &found)
    metrics.told(found)
    return found
  }

  mutating func answer(_ id: RequestID, _ reply: MCPReply) {
    effects.append(.answer(id, reply))
  }
}
