/// An attempt to send a payload in pieces, which resumes where an earlier attempt was interrupted.
///
///     ticket ─▶ asking ──offset──▶ appending ⇄ (the rest) ─▶ ended: the server's response
///                 │ gone              ▲  │ another offset: resumes there
///                 ▼                   │  ▼ gone
///     no ticket ─▶ creating ──URL─────┘ creating, once more
///                     └──the server does not support uploads──▶ whole
///
/// This value performs no I/O: the shell makes the request of each step and reports the response.
/// An interrupted request ends the attempt. The ticket stays stored, and the next attempt begins
/// with it.
public struct ResumableUpload: Sendable, Hashable {
  /// The next step of an attempt.
  public enum Step: Sendable, Hashable {
    /// Ask the server to create an upload.
    case create
    /// Ask the server how many bytes of the payload it has received.
    case offset(url: String)
    /// Send `count` bytes from an offset.
    case append(url: String, from: Int, count: Int, isLast: Bool)
    /// Send the payload in one request, as for a server that does not support uploads in pieces.
    case whole
    /// The attempt ended, either with the response to the whole payload or with a refusal that a
    /// later attempt may avoid.
    case ended(status: Int)
  }

  /// A change of the ticket that is stored for the next attempt.
  public enum TicketUpdate: Sendable, Hashable {
    case nothing
    /// Store the URL before the next request.
    case ticket(url: String)
    /// Remove the stored ticket.
    case forget
  }

  /// The minimum size of a payload that is sent in pieces. Project choice: an interruption of a
  /// smaller payload costs less than the requests of a resumption.
  public static let usualLeast = 64 << 10
  /// The maximum size of a piece in bytes. Project choice: a restart of the server loses at most
  /// this many bytes.
  public static let mostPiece = 256 << 10
  /// The maximum number of restarts and offset corrections before an attempt sends the payload
  /// whole.
  static let mostDetours = 3

  private enum Stage: Sendable, Hashable {
    case creating
    case asking(url: String)
    case appending(url: String, from: Int)
    case whole
    case ended(status: Int)
  }

  private let size: Int
  private let piece: Int
  private let dialect: UploadDialect
  private var stage: Stage
  private var detours = 0
  /// Whether the server accepted the request to create an upload.
  public private(set) var isUnderstood = true
  /// Whether the final response reports that the batch is stored. It applies only if the status is
  /// a success.
  public private(set) var isStored = true

  /// Creates an attempt.
  ///
  /// - Parameters:
  ///   - size: The size of the payload in bytes.
  ///   - url: The URL of the upload that an earlier attempt began.
  public init(size: Int, _ offer: UploadOffer, url: String? = nil) {
    self.size = size
    dialect = offer.dialect
    piece = max(1, min(Self.mostPiece, offer.maxAppend ?? Self.mostPiece))
    stage = url.map { .asking(url: $0) } ?? .creating
    if let most = offer.maxSize, size > most { stage = .whole }
  }

  /// The next step.
  public var step: Step {
    switch stage {
    case .creating: return .create
    case .asking(let url): return .offset(url: url)
    case .appending(let url, let from):
      let count = min(piece, size - from)
      return .append(url: url, from: from, count: count, isLast: from + count == size)
    case .whole: return .whole
    case .ended(let status): return .ended(status: status)
    }
  }

  /// The header fields of the step's request.
  public var fields: [UploadField] {
    switch step {
    case .create: return UploadFields(dialect, length: size, isComplete: false).fields
    case .offset: return dialect.fields
    case .append(_, let from, _, let isLast):
      return UploadFields(dialect, offset: from, isComplete: isLast).fields
        + [UploadField("Content-Type", dialect.mediaType)]
    case .whole, .ended: return []
    }
  }

  /// Handles the response to the step's request.
  ///
  /// - Returns: The change of the ticket to store for the next attempt.
  public mutating func take(_ reply: UploadReply) -> TicketUpdate {
    switch stage {
    case .creating: return created(reply)
    case .asking(let url): return asked(reply, url)
    case .appending(let url, let from): return appended(reply, url, from)
    case .whole, .ended: return .nothing
    }
  }

  private mutating func created(_ reply: UploadReply) -> TicketUpdate {
    if (200..<300).contains(reply.status), let url = reply.url {
      stage = .appending(url: url, from: 0)
      return .ticket(url: url)
    }
    if UploadReply.isTransient(reply.status) {
      stage = .ended(status: reply.status)
    } else {
      isUnderstood = false
      stage = .whole
    }
    return .nothing
  }

  private mutating func asked(_ reply: UploadReply, _ url: String) -> TicketUpdate {
    guard (200..<300).contains(reply.status) else { return refused(reply.status) }
    // If the payload is complete, the response to it was lost, and it is unknown whether that was a
    // success.
    guard reply.fields.isComplete != true, let offset = reply.fields.offset, offset <= size,
      dialect != .tus || offset < size
    else { return begin() }
    stage = .appending(url: url, from: offset)
    return .nothing
  }

  private mutating func appended(_ reply: UploadReply, _ url: String, _ from: Int) -> TicketUpdate {
    guard case .append(_, _, let count, let isLast) = step else { return .nothing }
    if reply.status == 409, reply.fields.isComplete != true {
      guard let offset = reply.fields.offset, offset <= size, offset != from,
        detours < Self.mostDetours
      else { return begin() }
      detours += 1
      stage = .appending(url: url, from: offset)
      return .nothing
    }
    let isSuccess = (200..<300).contains(reply.status)
    if isLast, reply.fields.isComplete == true || (isSuccess && isWhole(reply)) {
      (stage, isStored) = (.ended(status: reply.status), reply.isSuccess)
      // A server that could not store the batch now keeps the bytes for the next attempt.
      let isRetained = UploadReply.isTransient(reply.status) || (isSuccess && !reply.isSuccess)
      return isRetained ? .nothing : .forget
    }
    guard isSuccess else { return refused(reply.status) }
    return accepted(reply.fields.offset, of: from..<(from + count), url)
  }

  /// Returns whether a successful response to the last piece completes the upload.
  ///
  /// In tus, the offset shows this. In the draft, a server may omit the offset.
  private func isWhole(_ reply: UploadReply) -> Bool {
    guard let offset = reply.fields.offset else {
      return dialect != .tus && reply.fields.isComplete == nil
    }
    return offset == size && reply.fields.isComplete != false
  }

  /// Continues after the accepted bytes of a piece. If less than half of the piece was accepted,
  /// this counts as a detour.
  private mutating func accepted(_ offset: Int?, of sent: Range<Int>, _ url: String) -> TicketUpdate
  {
    guard let offset else {
      // The offset is required in tus but only recommended in the draft, so the server is asked for
      // it.
      return detour(.asking(url: url))
    }
    guard offset <= size else { return begin() }
    let part = offset - sent.lowerBound
    guard part > 0, part >= sent.count / 2, part <= sent.count, offset < size else {
      return detour(.appending(url: url, from: offset))
    }
    stage = .appending(url: url, from: offset)
    return .nothing
  }

  /// Continues at another stage, or sends the payload whole after too many detours.
  private mutating func detour(_ next: Stage) -> TicketUpdate {
    detours += 1
    guard detours < Self.mostDetours else {
      stage = .whole
      return .forget
    }
    stage = next
    return .nothing
  }

  /// Continues after the server refused the upload resource, which does not mean that it refused
  /// the payload.
  private mutating func refused(_ status: Int) -> TicketUpdate {
    guard !UploadReply.isTransient(status) else {
      stage = .ended(status: status)
      return .nothing
    }
    return begin()
  }

  /// Starts over, or sends the payload whole after too many detours.
  private mutating func begin() -> TicketUpdate {
    detours += 1
    stage = detours < Self.mostDetours ? .creating : .whole
    return .forget
  }
}
