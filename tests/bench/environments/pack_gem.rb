# Packs the gem of an unpacked Debian package again: `ruby pack_gem.rb FOLDER`, into this folder.
# Debian keeps a gem's libraries and programs where Ruby and the shell find them without it.
require "fileutils"
require "rubygems/package"
require "tmpdir"

package = File.expand_path(ARGV.fetch(0))
into = Dir.pwd
Dir.glob("#{package}/usr/share/rubygems-integration/*/specifications/*.gemspec").each do |file|
  spec = Gem::Specification.load(file)
  Dir.mktmpdir do |folder|
    kept = file.sub("/specifications/", "/gems/").delete_suffix(".gemspec")
    FileUtils.cp_r("#{kept}/.", folder) if File.directory?(kept)
    libraries = "#{package}/usr/lib/ruby/vendor_ruby"
    FileUtils.cp_r(libraries, "#{folder}/lib") if File.directory?(libraries)
    programs = spec.executables.select { |name| File.file?("#{package}/usr/bin/#{name}") }
    FileUtils.mkdir_p("#{folder}/#{spec.bindir}") unless programs.empty?
    programs.each { |name| FileUtils.cp("#{package}/usr/bin/#{name}", "#{folder}/#{spec.bindir}") }
    Dir.chdir(folder) do
      spec.files = Dir.glob("**/*", File::FNM_DOTMATCH).select { |each| File.file?(each) }
      spec.executables = spec.executables.select { |name| File.file?("#{spec.bindir}/#{name}") }
      spec.require_paths = ["lib"]
      spec.extensions = []
      Gem::Package.build(spec, true)
      FileUtils.mv(spec.file_name, into)
    end
  end
end
