import LinkCore

/// The rank of a source: where several measured the same time, the one with the least rank counts.
///
/// Exports carry no order of sources, so the rank is a rule: what a watch measured comes before a
/// phone, then other devices, then apps that name no device; among equals the name that is told
/// decides.
struct SourceRank: Sendable, Hashable, Comparable {
  enum Kind: Int, Sendable, Hashable, CaseIterable {
    case watch, phone, device, app

    /// Reads the kind from the words of a source's name and of its device.
    init(source: String, device: String?) {
      var words = Self.words(of: source)
      let device = device.map(Self.words) ?? []
      words.formUnion(device)
      if words.contains("watch") {
        self = .watch
      } else if !words.isDisjoint(with: ["iphone", "phone", "ipad", "ipod"]) {
        self = .phone
      } else {
        self = device.isEmpty ? .app : .device
      }
    }

    /// The words of a text in lower case; whatever is no letter separates two.
    private static func words(of text: String) -> Set<String> {
      let words = text.unicodeScalars.split { !$0.properties.isAlphabetic }
      return Set(words.map { String($0).lowercased() })
    }
  }

  var kind: Kind
  var name: String

  static func < (left: Self, right: Self) -> Bool {
    (left.kind.rawValue, left.name) < (right.kind.rawValue, right.name)
  }
}

/// The sources of an answer by rank: one lane for what one source measured with one kind of device.
struct SourceLanes: Sendable {
  private(set) var ranks: [SourceRank] = []
  private var lanes: [Int: Int] = [:]
  /// The device that each source named last, and its lane.
  private var latest: [(device: String?, lane: Int)?] = []

  /// The lane of a sample whose source has this number.
  mutating func lane(of sample: HealthSample, source: Int) -> Int {
    while latest.count <= source { latest.append(nil) }
    if let known = latest[source], known.device == sample.device { return known.lane }
    let kind = SourceRank.Kind(source: sample.source, device: sample.device)
    let place = source * SourceRank.Kind.allCases.count + kind.rawValue
    let lane = lanes[place] ?? ranks.count
    if lane == ranks.count {
      let name = Sources.name(sample.source, device: sample.device) ?? ""
      ranks.append(SourceRank(kind: kind, name: name))
      lanes[place] = lane
    }
    latest[source] = (sample.device, lane)
    return lane
  }
}

/// The lanes that measure at a moment, the one that counts first.
struct ActiveLanes: Sendable {
  private var counts: [Int] = []
  private var order: [Int] = []

  /// The lane that counts; `nil` if none measures.
  var first: Int? { order.first }

  /// Notes that a stretch of a lane begins.
  mutating func begin(_ lane: Int, _ ranks: [SourceRank]) {
    while counts.count <= lane { counts.append(0) }
    counts[lane] += 1
    guard counts[lane] == 1 else { return }
    order.insert(lane, at: place(of: lane, ranks))
  }

  /// Notes that a stretch of a lane that began ends.
  mutating func end(_ lane: Int, _ ranks: [SourceRank]) {
    counts[lane] -= 1
    guard counts[lane] == 0 else { return }
    order.remove(at: place(of: lane, ranks))
  }

  private func place(of lane: Int, _ ranks: [SourceRank]) -> Int {
    var (low, high) = (0, order.count)
    while low < high {
      let middle = (low + high) / 2
      if (ranks[order[middle]], order[middle]) < (ranks[lane], lane) {
        low = middle + 1
      } else {
        high = middle
      }
    }
    return low
  }
}
