// fails: Holdfast has no network adapter for this platform yet
import Holdfast

func begin() throws { _ = try HoldfastPlatform.network() }
