import HoldfastCore
import HoldfastHealthSamples

/// The rank of a source. If several sources measure at the same time, the one with the lowest rank
/// counts.
///
/// Exports contain no order of sources, so a rule defines the rank. As in Apple's default order,
/// what was entered by hand in Health comes first, and apps come last. Between them are watches,
/// then phones, then other devices. Sources of the same kind are ordered by name.
struct SourceRank: Sendable, Hashable, Comparable {
  enum Kind: Int, Sendable, Hashable, CaseIterable {
    case manual, watch, phone, device, app

    /// Creates a kind from the words in the names of a source and its device.
    init(source: String, device: String?) {
      if device == nil, Self.healthNames.contains(source) {
        self = .manual
        return
      }
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

    /// The names of the app Health. It is the source of what users enter in it, without a device.
    /// The app has its English name in the languages that are missing here.
    private static let healthNames: Set<String> = [
      "Health", "Gezondheid", "Hälsa", "Helse", "Salud", "Salut", "Salute", "Santé", "Saúde",
      "Sundhed", "Sağlık", "Terveys", "Zdraví", "Zdravie", "Zdrowie", "Egészség", "Sănătate",
      "Здоровье", "Здоров’я", "Υγεία", "健康", "ヘルスケア", "건강", "สุขภาพ", "בריאות", "صحتي",
    ]

    /// Returns the words of a text in lower case. Anything that is not a letter separates words.
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

/// The tracks of an answer, with their ranks. A track is the combination of a source and a kind of
/// device.
struct SourceMerger: Sendable {
  private(set) var ranks: [SourceRank] = []
  private var tracks: [Int: Int] = [:]
  /// The most recent device of each source, and its track.
  private var latest: [(device: String?, track: Int)?] = []

  /// Returns the track of a sample whose source has this number.
  mutating func track(of sample: HealthSample, source: Int) -> Int {
    while latest.count <= source { latest.append(nil) }
    if let known = latest[source], known.device == sample.device { return known.track }
    let kind = SourceRank.Kind(source: sample.source, device: sample.device)
    let index = source * SourceRank.Kind.allCases.count + kind.rawValue
    let track = tracks[index] ?? ranks.count
    if track == ranks.count {
      let name = Sources.name(sample.source, device: sample.device) ?? ""
      ranks.append(SourceRank(kind: kind, name: name))
      tracks[index] = track
    }
    latest[source] = (sample.device, track)
    return track
  }
}

/// The tracks that measure at an instant, ordered by rank.
struct ActiveTracks: Sendable {
  private var counts: [Int] = []
  private var order: [Int] = []

  /// The track that counts, or `nil` if no track measures.
  var first: Int? { order.first }

  /// Records the start of an interval of a track.
  mutating func begin(_ track: Int, _ ranks: [SourceRank]) {
    while counts.count <= track { counts.append(0) }
    counts[track] += 1
    guard counts[track] == 1 else { return }
    order.insert(track, at: index(of: track, ranks))
  }

  /// Records the end of an interval of a track. The interval must have begun.
  mutating func end(_ track: Int, _ ranks: [SourceRank]) {
    counts[track] -= 1
    guard counts[track] == 0 else { return }
    order.remove(at: index(of: track, ranks))
  }

  private func index(of track: Int, _ ranks: [SourceRank]) -> Int {
    var (low, high) = (0, order.count)
    while low < high {
      let middle = (low + high) / 2
      if (ranks[order[middle]], order[middle]) < (ranks[track], track) {
        low = middle + 1
      } else {
        high = middle
      }
    }
    return low
  }
}
