// fails on ios, watchos, watchos-device: AppKit
import AppKit

func name() -> String { "" }
