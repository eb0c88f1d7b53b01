public import LinkWire

/// One try to send a payload in pieces, which goes on where an earlier one was cut.
///
///     ticket ─▶ asking ──offset──▶ appending ⇄ (the rest) ─▶ ended: the server's answer
///                 │ gone              ▲  │ another offset: goes on there
///                 ▼                   │  ▼ gone
///     no ticket ─▶ creating ──place───┘ creating, once more
///                     └──the server does not know uploads──▶ whole
///
/// It sends nothing by itself: the shell makes the request of each step and reports the answer.
/// What cuts a request ends the try; the ticket is kept, and the next try begins with it.
public struct ResumableUpload: Sendable, Hashable {
  /// What to do next.
  public enum Step: Sendable, Hashable {
    /// Ask the server for a place.
    case create
    /// Ask how much of the payload is there.
    case offset(url: String)
    /// Send so many bytes, from an offset on.
    case append(url: String, from: Int, count: Int, isLast: Bool)
    /// Send the payload in one request, as to a server that knows no uploads.
    case whole
    /// The answer to the whole payload, or a refusal that another try may not meet.
    case ended(status: Int)
  }

  /// What is kept for the next try.
  public enum Keep: Sendable, Hashable {
    case nothing
    /// Store it before the next request.
    case ticket(url: String)
    /// Forget what is stored.
    case forget
  }

  /// From so many bytes on a payload is sent in pieces; ours: a cut below costs less than the
  /// requests that a resumption takes.
  public static let usualLeast = 64 << 10
  /// The most bytes of a piece; ours: what a restart of the server costs at most.
  public static let mostPiece = 256 << 10
  /// How often a try begins anew, or learns of another offset, before it sends the payload whole.
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
  /// Whether the server took the request for a place.
  public private(set) var isUnderstood = true
  /// Whether the answer that ended it says that the batch is stored, if its status does.
  public private(set) var isStored = true

  /// A try.
  ///
  /// - Parameters:
  ///   - size: How many bytes the payload has.
  ///   - url: Where the server keeps what an earlier try sent.
  public init(size: Int, _ offer: UploadOffer, url: String? = nil) {
    self.size = size
    dialect = offer.dialect
    piece = max(1, min(Self.mostPiece, offer.maxAppend ?? Self.mostPiece))
    stage = url.map { .asking(url: $0) } ?? .creating
    if let most = offer.maxSize, size > most { stage = .whole }
  }

  /// What to do next.
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

  /// The fields of the step's request.
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

  /// Takes the answer to the step's request.
  public mutating func take(_ reply: UploadReply) -> Keep {
    switch stage {
    case .creating: return created(reply)
    case .asking(let url): return asked(reply, url)
    case .appending(let url, let from): return appended(reply, url, from)
    case .whole, .ended: return .nothing
    }
  }

  private mutating func created(_ reply: UploadReply) -> Keep {
    if (200..<300).contains(reply.status), let url = reply.url {
      stage = .appending(url: url, from: 0)
      return .ticket(url: url)
    }
    if Self.isPassing(reply.status) {
      stage = .ended(status: reply.status)
    } else {
      isUnderstood = false
      stage = .whole
    }
    return .nothing
  }

  private mutating func asked(_ reply: UploadReply, _ url: String) -> Keep {
    guard (200..<300).contains(reply.status) else { return refused(reply.status) }
    // If the payload is complete its answer was lost: whether it was a success is not known.
    guard reply.fields.isComplete != true, let offset = reply.fields.offset, offset <= size,
      dialect != .tus || offset < size
    else { return begin() }
    stage = .appending(url: url, from: offset)
    return .nothing
  }

  private mutating func appended(_ reply: UploadReply, _ url: String, _ from: Int) -> Keep {
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
      // A server that could not store it now keeps the bytes for the next try.
      let isKept = Self.isPassing(reply.status) || (isSuccess && !reply.isSuccess)
      return isKept ? .nothing : .forget
    }
    guard isSuccess else { return refused(reply.status) }
    return took(reply.fields.offset, of: from..<(from + count), url)
  }

  /// Whether a success of the last piece concludes the upload: in tus its offset says so, in the
  /// draft a server may say nothing.
  private func isWhole(_ reply: UploadReply) -> Bool {
    guard let offset = reply.fields.offset else {
      return dialect != .tus && reply.fields.isComplete == nil
    }
    return offset == size && reply.fields.isComplete != false
  }

  /// Goes on behind what the server took of a piece. It is doubted if that is less than half.
  private mutating func took(_ offset: Int?, of sent: Range<Int>, _ url: String) -> Keep {
    guard let offset else {
      // It must say so in tus, and should in the draft: it is asked.
      return doubt(.asking(url: url))
    }
    guard offset <= size else { return begin() }
    let part = offset - sent.lowerBound
    guard part > 0, part >= sent.count / 2, part <= sent.count, offset < size else {
      return doubt(.appending(url: url, from: offset))
    }
    stage = .appending(url: url, from: offset)
    return .nothing
  }

  /// Goes on in another place, after several times with the whole payload.
  private mutating func doubt(_ next: Stage) -> Keep {
    detours += 1
    guard detours < Self.mostDetours else {
      stage = .whole
      return .forget
    }
    stage = next
    return .nothing
  }

  /// Goes on after a refusal of the upload itself, which says nothing about the payload.
  private mutating func refused(_ status: Int) -> Keep {
    guard !Self.isPassing(status) else {
      stage = .ended(status: status)
      return .nothing
    }
    return begin()
  }

  /// Begins anew; after several times the payload goes whole.
  private mutating func begin() -> Keep {
    detours += 1
    stage = detours < Self.mostDetours ? .creating : .whole
    return .forget
  }

  /// Whether the same request may meet another answer later, or with another secret.
  public static func isPassing(_ status: Int) -> Bool {
    switch status {
    case 401, 408, 425, 429: true
    case 501: false
    case 500..<600: true
    case _: false
    }
  }
}
