"""What Sphinx needs to make the site: links, mathematics, the reference, commands, llms.txt."""
