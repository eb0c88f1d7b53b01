import HealthSync
import LinkWire

/// How a payload must be sent in pieces, told a second time.
struct SyncCourseTwin {
  private enum Place {
    case nowhere
    case asked(String)
    case known(String, Int)
    case whole
    case over(Int)
  }

  private let version: Int
  private let size: Int
  private let piece: Int
  private var place: Place
  private var detours = 0
  private(set) var isUnderstood = true

  init(_ version: Int, _ size: Int, piece: Int?, most: Int?, url: String?) {
    (self.version, self.size) = (version, size)
    self.piece = piece.map { 1...262_144 ~= $0 ? $0 : $0 < 1 ? 1 : 262_144 } ?? 262_144
    place = url.map { .asked($0) } ?? .nowhere
    if size > most ?? .max { place = .whole }
  }

  /// From where on the next bytes are sent.
  var from: Int { if case .known(_, let from) = place { from } else { 0 } }

  private var end: Int { min(size, from + piece) }

  var step: ResumableUpload.Step {
    switch place {
    case .nowhere: .create
    case .asked(let url): .offset(url: url)
    case .known(let url, let from):
      .append(url: url, from: from, count: end - from, isLast: end == size)
    case .whole: .whole
    case .over(let status): .ended(status: status)
    }
  }

  var fields: [[String]] {
    let named = SyncHouse.named(version)
    switch place {
    case .nowhere:
      let length = named + [["Upload-Length", "\(size)"]]
      return version == 0 ? length : length + [SyncHouse.ended(version, false)]
    case .asked: return named
    case .known:
      let offset = named + [["Upload-Offset", "\(from)"]]
      return version == 0
        ? offset + [["Content-Type", "application/offset+octet-stream"]]
        : offset + [
          SyncHouse.ended(version, end == size), ["Content-Type", "application/partial-upload"],
        ]
    case .whole, .over: return []
    }
  }

  mutating func take(_ reply: UploadReply) -> ResumableUpload.Keep {
    let isWell = 200...299 ~= reply.status
    switch place {
    case .nowhere:
      if isWell, let url = reply.url {
        place = .known(url, 0)
        return .ticket(url: url)
      }
      if !passes(reply.status) {
        isUnderstood = false
        place = .whole
      }
      return .nothing
    case .asked(let url):
      guard isWell else { return refused(reply.status) }
      let most = version == 0 ? size - 1 : size
      guard reply.fields.isComplete != true, let offset = reply.fields.offset, offset <= most else {
        return restart()
      }
      place = .known(url, offset)
      return .nothing
    case .known(let url, _): return sent(reply, url, isWell)
    case .whole, .over: return .nothing
    }
  }

  private mutating func sent(
    _ reply: UploadReply, _ url: String, _ isWell: Bool
  ) -> ResumableUpload.Keep {
    let isComplete = reply.fields.isComplete == true
    if reply.status == 409, !isComplete {
      guard let offset = reply.fields.offset, offset != from, offset <= size, detours < 3 else {
        return restart()
      }
      detours += 1
      place = .known(url, offset)
      return .nothing
    }
    if end == size, isComplete || isWell {
      let isPassing = passes(reply.status)
      place = .over(reply.status)
      return isPassing ? .nothing : .forget
    }
    if !isWell { return refused(reply.status) }
    place = .known(url, end)
    return .nothing
  }

  private mutating func refused(_ status: Int) -> ResumableUpload.Keep {
    passes(status) ? .nothing : restart()
  }

  private mutating func restart() -> ResumableUpload.Keep {
    detours += 1
    place = detours > 2 ? .whole : .nowhere
    return .forget
  }

  /// Whether another try may be answered otherwise; then this one is over.
  private mutating func passes(_ status: Int) -> Bool {
    let passes = [401, 408, 425, 429].contains(status) || (500...599 ~= status && status != 501)
    if passes { place = .over(status) }
    return passes
  }
}
